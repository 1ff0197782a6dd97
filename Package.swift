// swift-tools-version: 6.2

import PackageDescription

// Each change is built so, and without debug information, which takes an eighth of the time; who only uses the package may
// have a compiler that warns of more.
let isStrict = Context.environment["HEADRACE_STRICT"] != nil
let settings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (isStrict ? [.treatAllWarnings(as: .error), .unsafeFlags(["-Xfrontend", "-gnone"])] : [])
// What the transports' own tests need is all that is built for them.
let isForTransports = Context.environment["HEADRACE_TRANSPORTS"] != nil
// With Swift's runtime in it, the tool takes less CPU time, and it runs where Swift is not installed.
let staticLinking = ["-static-stdlib"]
let inLinuxReleases = BuildSettingCondition.when(platforms: [.linux], configuration: .release)
let cSettings: [CSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []

// The App Store requires it in each library. Elsewhere the code that SwiftPM generates for a resource would link Foundation.
let privacyManifest = "PrivacyInfo.xcprivacy"
// Of the machine that builds, which has to be a Mac for Apple platforms.
#if canImport(Darwin)
let isForApple = true
#else
let isForApple = false
#endif

let package = Package(
    name: "headrace",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Headrace", targets: ["Headrace"]),
        .library(name: "HeadraceFoundation", targets: ["HeadraceFoundation"]),
        .executable(name: "headrace", targets: ["HeadraceCLI"]),
        .executable(name: "headrace-bench", targets: ["HeadraceBenchmarks"]),
        // Preloaded by the benchmark, into the tool.
        .library(name: "headrace-faults", type: .dynamic, targets: ["CHeadraceFaults"]),
    ],
    traits: [
        .trait(name: "URLSession", description: "The transport on Foundation's URLSession on Linux too, for its tests.")
    ],
    targets: [
        .target(
            name: "CHeadrace",
            cSettings: cSettings,
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]
        ),
        .target(name: "HeadracePlatform", swiftSettings: settings),
        .target(
            name: "Headrace",
            dependencies: ["CHeadrace", "HeadracePlatform"],
            exclude: isForApple ? [] : [privacyManifest],
            resources: isForApple ? [.copy(privacyManifest)] : [],
            swiftSettings: settings
        ),
        .target(name: "HeadraceFoundation", dependencies: ["Headrace"], swiftSettings: settings),
        .executableTarget(
            name: "HeadraceCLI",
            dependencies: ["Headrace", "HeadracePlatform"],
            swiftSettings: settings + [.unsafeFlags(staticLinking, inLinuxReleases)],
            linkerSettings: [.unsafeFlags(staticLinking, inLinuxReleases)]
        ),
        .target(
            name: "CHeadraceTestSupport",
            path: "Tests/CHeadraceTestSupport",
            cSettings: cSettings,
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]
        ),
        .target(
            name: "HeadraceTestSupport",
            dependencies: ["Headrace", "HeadracePlatform", "CHeadraceTestSupport"],
            path: "Tests/HeadraceTestSupport",
            swiftSettings: settings
        ),
        .testTarget(
            name: "HeadraceTests",
            dependencies: ["Headrace", "HeadraceFoundation", "HeadracePlatform", "HeadraceTestSupport"],
            path: isForTransports ? "Tests/HeadraceTests/Transport" : nil,
            exclude: isForTransports ? ["ResponseStreamStateTests.swift"] : [],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HeadraceCLITests",
            dependencies: ["HeadraceCLI", "HeadracePlatform", "HeadraceTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HeadraceInteropTests",
            dependencies: ["Headrace", "HeadracePlatform", "HeadraceTestSupport"],
            swiftSettings: settings
        ),
        .target(
            name: "CHeadraceFaults",
            path: "Tests/CHeadraceFaults",
            cSettings: cSettings,
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]
        ),
        .target(name: "CHeadraceLine", path: "Tests/CHeadraceLine", cSettings: cSettings),
        .executableTarget(
            name: "HeadraceBenchmarks",
            dependencies: ["Headrace", "HeadracePlatform", "HeadraceTestSupport", "CHeadraceLine"],
            path: "Tests/HeadraceBenchmarks",
            swiftSettings: settings
        ),
        .testTarget(
            name: "HeadraceBenchmarksTests",
            dependencies: ["HeadraceBenchmarks"],
            swiftSettings: settings
        ),
    ]
)
if isForTransports {
    package.products = []
    let others = [
        "HeadraceCLI", "HeadraceCLITests", "HeadraceInteropTests", "HeadraceBenchmarks", "HeadraceBenchmarksTests",
        "CHeadraceFaults", "CHeadraceLine",
    ]
    package.targets.removeAll { others.contains($0.name) }
}
