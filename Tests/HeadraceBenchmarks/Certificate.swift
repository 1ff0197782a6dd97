/// A throw-away authority and a certificate from it for an address and the loopback name, made with the `openssl` command.
struct Certificate: Sendable {
    /// The authority's certificate, which the contenders trust.
    let authority: String
    let chain: String
    let key: String

    static func make(for address: String = Loopback.address, in workspace: Workspace) throws -> Certificate {
        guard let openssl = FileSystem.find("openssl") else {
            throw BenchmarkError("the openssl command, which makes the certificate, is not installed")
        }
        let folder = workspace.scratch
        let authority = folder + "/ca.pem"
        let authorityKey = folder + "/ca.key"
        let request = folder + "/server.csr"
        let certificate = Certificate(
            authority: authority,
            chain: folder + "/server.pem",
            key: folder + "/server.key"
        )
        let extensions = folder + "/server.ext"
        // The system's configuration may be missing or may add extensions twice.
        let configuration = folder + "/openssl.cnf"
        // Repeats the address as a name, because axel only checks names.
        try FileSystem.write(
            "subjectAltName=IP:\(address),DNS:localhost,DNS:\(address)\nbasicConstraints=CA:FALSE\n",
            to: extensions
        )
        try FileSystem.write(
            "[req]\ndistinguished_name=dn\nx509_extensions=ca\n[dn]\n[ca]\nbasicConstraints=critical,CA:TRUE\n"
                + "keyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n",
            to: configuration
        )
        let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        let steps = [
            ["req", "-config", configuration, "-x509", "-days", "2", "-subj", "/CN=headrace-bench authority"] + newKey
                + ["-keyout", authorityKey, "-out", authority],
            ["req", "-config", configuration, "-subj", "/CN=localhost"] + newKey
                + ["-keyout", certificate.key, "-out", request],
            ["x509", "-req", "-days", "2", "-in", request, "-CA", authority, "-CAkey", authorityKey]
                + ["-set_serial", "1", "-extfile", extensions, "-out", certificate.chain],
        ]
        for arguments in steps {
            do {
                _ = try Measurement.run(
                    Command(executable: openssl, arguments: arguments),
                    in: workspace,
                    timeout: 30
                )
            } catch let error as BenchmarkError where error.status < 128 {
                throw BenchmarkError("openssl could not make the certificate: \(error.message)")
            }
        }
        return certificate
    }
}
