import HeadracePlatform
import Testing

@testable import Headrace

/// When a login is requested, and which one is sent.
@Suite(.timeLimit(.minutes(4)))
struct CredentialCacheTests {
    /// A class, because a macro's operand cannot mutate a variable.
    private final class Book {
        private var book = CredentialCache()

        func known(for origin: Origin) -> Credential? { book.known(for: origin)?.credential }

        func challenged(
            _ origin: Origin,
            refused: Set<Credential> = [],
            candidate: Credential? = nil
        ) -> CredentialCache.Next {
            book.challenged(origin, refused: refused, candidate: candidate)
        }

        func resolved(_ origin: Origin, _ credential: Credential?) { book.resolved(origin, credential) }
    }

    private let one = Credential.login(user: "u", password: "1")
    private let two = Credential.bearer(token: "2")

    private func origin(_ url: String) throws -> Origin {
        Origin(try #require(URL(string: url)))
    }

    @Test func `one download requests the login, others wait, and the login is for that origin alone`() throws {
        let book = Book()
        let (a, b) = (try origin("https://a/"), try origin("https://b/"))
        #expect(book.challenged(a) == .request)
        #expect(book.challenged(a) == .wait)
        #expect(book.challenged(b) == .request)
        book.resolved(a, one)
        #expect(book.challenged(a) == .use(one))
        #expect(book.known(for: a) == one)
        for other in ["http://a/", "https://a:444/", "https://x.a/", "https://b/"] {
            #expect(book.known(for: try origin(other)) == nil)
        }
    }

    @Test func `a refused credential is not sent again unless another request proves it valid`() throws {
        let book = Book()
        let a = try origin("https://a/")
        #expect(book.challenged(a) == .request)
        book.resolved(a, one)
        #expect(book.challenged(a, refused: [one]) == .request)
        #expect(book.known(for: a) == nil)
        book.resolved(a, two)
        // A transfer that was sent the old credential does not request another.
        #expect(book.challenged(a, refused: [one]) == .use(two))
        #expect(book.challenged(a, refused: [one, two]) == .request)
        book.resolved(a, nil)
        #expect(book.challenged(a) == .request)
        book.resolved(a, one)
        #expect(book.known(for: a) == one)
    }

    @Test func `an empty result lets others request again`() throws {
        let book = Book()
        let a = try origin("https://a/")
        #expect(book.challenged(a) == .request)
        book.resolved(a, nil)
        #expect(book.challenged(a) == .request)
    }

    @Test func `a candidate is tried before the provider is called`() throws {
        let book = Book()
        let a = try origin("https://a/")
        #expect(book.challenged(a, candidate: one) == .use(one))
        #expect(book.known(for: a) == one)
        #expect(book.challenged(a, refused: [one], candidate: one) == .request)
        #expect(book.known(for: a) == nil)
    }

    @Test func `only the logins used last are retained, and requests in progress`() throws {
        let book = Book()
        let (used, unused, requesting) = (try origin("https://a/"), try origin("https://b/"), try origin("https://c/"))
        for origin in [used, unused] { #expect(book.challenged(origin, candidate: one) == .use(one)) }
        #expect(book.challenged(requesting) == .request)
        for port in 1...3000 {
            _ = book.challenged(try origin("https://d:\(port)/"), candidate: two)
            if port % 500 == 0 { #expect(book.known(for: used) == one) }
        }
        #expect(book.known(for: unused) == nil)
        #expect(book.challenged(requesting) == .wait)
    }

    @Test func `a credential is never shown and is formatted for its scheme`() {
        let credential = Credential.login(user: "Aladdin", password: "open sesame")
        #expect(credential.field.value == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(two.field.value == "Bearer 2")
        let url = URL(string: "http://user:sesame@a/")
        var shown = "\(credential) \(String(reflecting: credential)) \(credential.field)"
        if let url { dump(CredentialRequest(url: url, schemes: [.basic], refused: credential), to: &shown) }
        #expect(!shown.contains("QWxh") && !shown.contains("sesame"))
    }

    @Test func `a request does not share the refusal of one that another server has chosen`() async throws {
        let (hasStarted, mayEnd) = (Latch(), Latch())
        let provider: CredentialStore.Provider = { request in
            guard request.isRedirected else { return .bearer(token: "t") }
            hasStarted.open()
            await mayEnd.wait(evenIfCancelled: true)
            return nil
        }
        let store = try #require(CredentialStore(provider, nil))
        let url = try #require(URL(string: "https://a.example/"))
        async let chosen = store.credential(
            for: CredentialRequest(url: url, schemes: [.bearer], isRedirected: true),
            refused: []
        )
        await hasStarted.wait(evenIfCancelled: true)
        async let own = store.credential(for: CredentialRequest(url: url, schemes: [.bearer]), refused: [])
        // Most likely, the second request waits for the first one by then.
        for _ in 0..<1000 { await Task.yield() }
        mayEnd.open()
        #expect(try await chosen == nil)
        #expect(try await own == .bearer(token: "t"))
    }
}
