// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "headrace",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Headrace", targets: ["Headrace"]),
        .executable(name: "headrace", targets: ["HeadraceCLI"]),
        .executable(name: "headrace-bench", targets: ["HeadraceBenchmarks"]),
    ],
    targets: [
        .target(
            name: "CHeadrace",
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]
        ),
        .target(name: "Headrace", dependencies: ["CHeadrace"], swiftSettings: settings),
        .executableTarget(name: "HeadraceCLI", dependencies: ["Headrace"], swiftSettings: settings),
        .target(
            name: "CHeadraceTestSupport",
            path: "Tests/CHeadraceTestSupport",
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]
        ),
        .target(
            name: "HeadraceTestSupport",
            dependencies: ["Headrace", "CHeadraceTestSupport"],
            path: "Tests/HeadraceTestSupport",
            swiftSettings: settings
        ),
        .testTarget(
            name: "HeadraceTests",
            dependencies: ["Headrace", "HeadraceTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HeadraceCLITests",
            dependencies: ["HeadraceCLI", "HeadraceTestSupport"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "HeadraceBenchmarks",
            dependencies: ["Headrace"],
            path: "Tests/HeadraceBenchmarks",
            swiftSettings: settings
        ),
    ]
)
