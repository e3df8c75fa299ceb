// swift-tools-version:6.2
import PackageDescription

// A separate package, because the whole of it is built with coverage for libFuzzer. It sees the pure targets of the
// main package, and those that read recordings, through links that `run.py` makes in `.build/fuzz/package`, and needs
// nothing else, which lets it build in a minute: `make fuzz`.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // Parsers that are internal to their module are fuzzed too, and `assert` holds in spite of the optimiser.
    .unsafeFlags(["-enable-testing", "-assert-config", "Debug"]),
]

let package = Package(
    name: "fuzz",
    targets: [
        .target(name: "Basics", swiftSettings: settings),
        .target(name: "DataChannels", swiftSettings: settings),
        .target(name: "Matroska", dependencies: ["Basics"], swiftSettings: settings),
        .target(name: "PipelineCatalogue", dependencies: ["Basics"], swiftSettings: settings),
        .target(name: "Model", dependencies: ["Basics", "PipelineCatalogue"], swiftSettings: settings),
        .target(name: "SDP", dependencies: ["Basics"], swiftSettings: settings),
        .target(name: "Timeline", dependencies: ["Basics"], swiftSettings: settings),
        // In the place of swift-crypto.
        .target(name: "Platform", swiftSettings: settings),
        .target(
            name: "Storage",
            dependencies: ["Basics", "Platform", "Matroska", "Timeline"],
            swiftSettings: settings
        ),
        .target(
            name: "Recording",
            dependencies: ["Basics", "Matroska", "Storage", "Timeline"],
            swiftSettings: settings
        ),
        .target(
            name: "Export",
            dependencies: ["Basics", "Matroska", "Model", "Storage", "Timeline"],
            swiftSettings: settings
        ),
        .target(name: "Signalling", dependencies: ["Basics"], swiftSettings: settings),
        .target(name: "Session", dependencies: ["Basics", "SDP", "Signalling"], swiftSettings: settings),
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "Basics", "DataChannels", "Export", "Matroska", "Recording", "SDP", "Session", "Signalling",
                "Storage",
                "Timeline",
            ],
            // libFuzzer brings the `main`.
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]
        ),
    ]
)
