// swift-tools-version:6.2
import PackageDescription

let settings: [SwiftSetting] = [
    // `any` is spelled out, so a reader sees dynamic dispatch. https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // A member is visible only where its module is imported. https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
    // Imports stay inside a module unless marked public: the C modules never leak upwards. https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // Nonisolated async functions stay on the caller's executor. https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let inMemoryLogging: Target.Dependency = .product(name: "InMemoryLogging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioWebSocket: Target.Dependency = .product(name: "NIOWebSocket", package: "swift-nio")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")
let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")

let package = Package(
    name: "tapedeck",
    products: [
        .executable(name: "tapedeck", targets: ["tapedeck"])
    ],
    dependencies: [
        // Exactly these: two builds of one commit take the same, whoever publishes a version or moves a tag.
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        // Without what reads its settings from configuration files: ours are our own.
        .package(
            url: "https://github.com/hummingbird-project/hummingbird",
            exact: "2.28.1",
            traits: ["FullFoundation"]
        ),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2"),
    ],
    targets: [
        // C
        .systemLibrary(
            name: "CGStreamer",
            pkgConfig: "gstreamer-webrtc-1.0",
            providers: [.apt(["libgstreamer-plugins-bad1.0-dev"])]
        ),
        .systemLibrary(
            name: "CGStreamerRTSP",
            pkgConfig: "gstreamer-rtsp-server-1.0",
            providers: [.apt(["libgstrtspserver-1.0-dev"])]
        ),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CNice", pkgConfig: "nice", providers: [.apt(["libnice-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CStrophe", pkgConfig: "libstrophe", providers: [.apt(["libstrophe-dev"])]),
        .target(
            name: "CTapedeck",
            dependencies: ["CGStreamer", "CNice"],
            cSettings: [.headerSearchPath(".")],
            linkerSettings: [
                .linkedLibrary("gstapp-1.0"), .linkedLibrary("gstaudio-1.0"), .linkedLibrary("gstpbutils-1.0"),
                .linkedLibrary("gstrtp-1.0"), .linkedLibrary("gstsdp-1.0"), .linkedLibrary("gstvideo-1.0"),
                .linkedLibrary("crypto"), .linkedLibrary("srtp2"),
                // local_addresses.c: libnice takes it for its own.
                .unsafeFlags(["-Xlinker", "--export-dynamic-symbol=nice_interfaces_get_local_ips"]),
            ]
        ),

        .target(
            name: "CTapedeckRTSP",
            dependencies: ["CGStreamerRTSP"],
            linkerSettings: [
                .linkedLibrary("gio-2.0"), .linkedLibrary("gstrtsp-1.0"), .linkedLibrary("gstsdp-1.0"),
            ]
        ),

        // Pure: value types, no I/O, no clocks, no C
        .target(name: "Basics"),
        .target(name: "DataChannels"),
        .target(name: "SDP", dependencies: ["Basics"]),
        .target(name: "Matroska", dependencies: ["Basics"]),
        .target(name: "Signalling", dependencies: ["Basics"]),
        .target(name: "Session", dependencies: ["Basics", "SDP", "Signalling"]),
        .target(name: "Timeline", dependencies: ["Basics"]),
        .target(name: "PipelineCatalogue", dependencies: ["Basics"]),
        .target(name: "Model", dependencies: ["Basics", "PipelineCatalogue", "Timeline"]),
        .target(name: "Fleet", dependencies: ["Basics", "Model", "Timeline"]),
        .target(name: "Cluster", dependencies: ["Basics"]),
        .target(name: "Terminal", dependencies: ["Basics"]),

        // Base: configuration, logs, embedded files, and the parts of the system that Swift has no package for
        .target(name: "Observability", dependencies: ["Basics", logging]),
        .target(name: "CEmbeddedFiles"),
        .target(name: "EmbeddedFiles", dependencies: ["CEmbeddedFiles"]),
        .target(name: "Platform", dependencies: ["Basics", "COpenSSL", nioCore, nioPosix, nioSSL]),
        .target(
            name: "ConfigurationFile",
            dependencies: ["Basics", "Cluster", "EmbeddedFiles", "Model", "PipelineCatalogue", "Signalling", yams]
        ),

        // Files
        .target(name: "Storage", dependencies: ["Basics", "Matroska", "Platform", "Timeline"]),
        .target(name: "Recording", dependencies: ["Basics", "Matroska", "Storage", "Timeline"]),
        .target(name: "Export", dependencies: ["Basics", "Matroska", "Model", "Platform", "Storage", "Timeline"]),
        .target(name: "Catalogue", dependencies: ["Basics", "Model", "Storage", "Timeline", grdb]),

        // Media: the only importers of C that handle media
        .target(name: "GStreamer", dependencies: ["Basics", "CGStreamer", "CTapedeck", "PipelineCatalogue"]),
        .target(
            name: "Media",
            dependencies: [
                "Basics", "DataChannels", "GStreamer", "Matroska", "Model", "Observability", "PipelineCatalogue",
                "Platform", "Recording", "SDP", "Session", "Signalling", "Storage", "Timeline", logging, nioCore,
                nioPosix, nioSSL,
            ]
        ),
        .target(
            name: "Rendering",
            dependencies: [
                "Basics", "Export", "GStreamer", "Matroska", "Model", "Storage", "Timeline", subprocess, systemPackage,
            ]
        ),

        // Network
        .target(name: "Coordination", dependencies: ["Basics", "Cluster", "HTTPRequests"]),
        .target(name: "Delivery", dependencies: ["Basics", "Model", subprocess, systemPackage]),
        .target(name: "HTTPRequests", dependencies: ["Basics", "CCurl"]),
        .target(
            name: "SignallingClients",
            dependencies: [
                "Basics", "CStrophe", "HTTPRequests", "Observability", "Platform", "Signalling", "Storage", logging,
                nioCore, nioHTTP1, nioPosix, nioSSL, nioWebSocket,
            ]
        ),
        .target(
            name: "RoomServer",
            dependencies: [
                "Basics", "EmbeddedFiles", "Observability", "Signalling", logging, nioCore, nioHTTP1, nioPosix,
                nioWebSocket,
            ],
            exclude: ["Page"]
        ),
        .target(name: "RTSPServer", dependencies: ["CTapedeckRTSP", "Model", "Observability", logging]),

        // The daemon: the worker process, and the supervisor with its HTTP API
        .target(
            name: "Worker",
            dependencies: [
                "Basics", "ConfigurationFile", "GStreamer", "Matroska", "Media", "Model", "Observability",
                "PipelineCatalogue", "Platform", "Recording", "SDP", "Session", "Signalling", "SignallingClients",
                "Storage", "Timeline", logging,
            ]
        ),
        .target(
            name: "Control",
            dependencies: [
                "Basics", "EmbeddedFiles", "Model", "Observability", "PipelineCatalogue", "Platform", logging, nioCore,
                nioHTTP1, nioPosix, nioSSL, serviceLifecycle, .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
            ],
            exclude: ["OpenAPI", "Page"]
        ),
        .target(
            name: "Daemon",
            dependencies: [
                "Basics", "Catalogue", "Cluster", "ConfigurationFile", "Control", "Coordination", "Delivery", "Fleet",
                "HTTPRequests", "Model", "Observability", "Platform", "Storage", "Timeline", logging, nioCore, nioPosix,
                serviceLifecycle, subprocess, systemPackage,
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]
        ),

        // `tapedeck doctor` and `tapedeck probe`
        .target(
            name: "Diagnosis",
            dependencies: [
                "Basics", "Delivery", "GStreamer", "Model", "PipelineCatalogue", "Platform", "Signalling", nioCore,
                nioPosix, nioSSL, subprocess, systemPackage,
            ]
        ),

        // Commands and composition
        .executableTarget(
            name: "tapedeck",
            dependencies: [
                "Basics", "Catalogue", "Cluster", "ConfigurationFile", "Coordination", "Daemon", "Delivery",
                "Diagnosis",
                "Export", "GStreamer", "HTTPRequests", "Matroska", "Media", "Model", "Observability",
                "PipelineCatalogue", "Platform",
                "Recording", "Rendering", "RoomServer", "RTSPServer", "Session", "Signalling", "SignallingClients",
                "Storage", "Terminal", "Timeline", "Worker", logging, systemPackage,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),

        // Tests
        .target(name: "TestSupport", dependencies: ["Basics", "Storage", "Timeline"], path: "Tests/TestSupport"),
        .testTarget(name: "BasicsTests", dependencies: ["Basics"]),
        .testTarget(name: "DataChannelsTests", dependencies: ["DataChannels"]),
        .testTarget(name: "SDPTests", dependencies: ["Basics", "SDP", "TestSupport"], resources: [.copy("Fixtures")]),
        .testTarget(name: "MatroskaTests", dependencies: ["Basics", "Matroska", "TestSupport"]),
        .testTarget(name: "SignallingTests", dependencies: ["Basics", "SDP", "Session", "Signalling", "TestSupport"]),
        .testTarget(
            name: "SessionTests",
            dependencies: ["SDP", "Session", "Signalling", "TestSupport"],
            resources: [.copy("Fixtures")]
        ),
        .testTarget(name: "TimelineTests", dependencies: ["Basics", "TestSupport", "Timeline"]),
        .testTarget(name: "PipelineCatalogueTests", dependencies: ["Basics", "PipelineCatalogue"]),
        .testTarget(name: "ModelTests", dependencies: ["Basics", "Model", "Timeline"]),
        .testTarget(name: "FleetTests", dependencies: ["Basics", "Fleet", "Model", "Timeline"]),
        .testTarget(name: "ClusterTests", dependencies: ["Basics", "Cluster", "Model", "TestSupport"]),
        .testTarget(name: "TerminalTests", dependencies: ["Terminal"]),
        .testTarget(name: "ObservabilityTests", dependencies: ["Basics", "Observability", inMemoryLogging, logging]),
        .testTarget(name: "PlatformTests", dependencies: ["Basics", "Platform", nioCore, nioPosix, nioSSL]),
        .testTarget(
            name: "ConfigurationFileTests",
            dependencies: [
                "Basics", "Cluster", "ConfigurationFile", "EmbeddedFiles", "Model", "PipelineCatalogue", "Signalling",
                "TestSupport", yams,
            ],
            resources: [.copy("Fixtures")]
        ),
        .testTarget(name: "StorageTests", dependencies: ["Basics", "Platform", "Storage", "TestSupport", "Timeline"]),
        .testTarget(
            name: "RecordingTests",
            dependencies: ["Basics", "Matroska", "Recording", "Storage", "TestSupport", "Timeline"]
        ),
        .testTarget(
            name: "ExportTests",
            dependencies: [
                "Basics", "Export", "Matroska", "Model", "Recording", "Rendering", "Storage", "TestSupport", "Timeline",
                "Worker",
            ]
        ),
        .testTarget(
            name: "CatalogueTests",
            dependencies: ["Basics", "Catalogue", "Model", "Storage", "Timeline", grdb],
            resources: [.copy("Fixtures")]
        ),
        .testTarget(
            name: "GStreamerTests",
            dependencies: [
                "Basics", "CGStreamer", "CTapedeck", "CTapedeckRTSP", "GStreamer", "TestSupport", "Timeline",
            ]
        ),
        .testTarget(
            name: "MediaTests",
            dependencies: [
                "Basics", "CGStreamer", "ConfigurationFile", "CTapedeck", "DataChannels", "GStreamer", "Matroska",
                "Media", "Model", "PipelineCatalogue", "Recording", "SDP", "Session", "Signalling", "Storage",
                "Timeline", inMemoryLogging, logging, nioCore, nioPosix, nioSSL,
            ]
        ),
        .testTarget(
            name: "RenderingTests",
            dependencies: ["Basics", "Export", "GStreamer", "Matroska", "Model", "Rendering", "Timeline"]
        ),
        .testTarget(name: "DeliveryTests", dependencies: ["Delivery", "Model"]),
        .testTarget(
            name: "CoordinationTests",
            dependencies: [
                "Basics", "Cluster", "ConfigurationFile", "Coordination", "Daemon", "HTTPRequests", "Model",
                "Observability", "TestSupport", logging, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "HTTPRequestsTests",
            dependencies: ["HTTPRequests", "TestSupport", nioCore, nioPosix, nioSSL]
        ),
        .testTarget(
            name: "SignallingClientsTests",
            dependencies: [
                "CStrophe", "Signalling", "SignallingClients", "TestSupport", logging, nioCore, nioHTTP1, nioPosix,
                nioSSL, nioWebSocket,
            ]
        ),
        .testTarget(
            name: "RoomServerTests",
            dependencies: ["Basics", "RoomServer", "Signalling", "TestSupport", logging, nioHTTP1]
        ),
        .testTarget(
            name: "WorkerTests",
            dependencies: [
                "Basics", "Fleet", "GStreamer", "Media", "Model", "PipelineCatalogue", "Recording", "Signalling",
                "Worker", inMemoryLogging, logging,
            ]
        ),
        .testTarget(
            name: "ControlTests",
            dependencies: [
                "Control", "EmbeddedFiles", "Model", "Observability", logging, nioCore, nioPosix, serviceLifecycle,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
            ]
        ),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "Basics", "Catalogue", "Cluster", "ConfigurationFile", "Control", "Daemon", "Fleet", "Model",
                "Observability", "Platform", "Storage", "TestSupport", "Timeline", grdb, logging, nioCore, nioHTTP1,
                nioPosix, serviceLifecycle, systemPackage,
            ],
            exclude: ["job.sh"]
        ),
        .testTarget(
            name: "DiagnosisTests",
            dependencies: [
                "Basics", "ConfigurationFile", "Diagnosis", "GStreamer", "Model", "PipelineCatalogue", "Platform",
                "Signalling",
            ]
        ),
        .testTarget(name: "DocumentationTests", exclude: ["words.json"]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = settings
}
