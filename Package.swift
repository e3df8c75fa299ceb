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
        .target(name: "Basics", swiftSettings: settings),
        .target(name: "Codecs", swiftSettings: settings),
        .target(name: "DataChannels", swiftSettings: settings),
        .target(name: "SDP", dependencies: ["Basics", "Codecs"], swiftSettings: settings),
        .target(name: "Matroska", dependencies: ["Codecs"], swiftSettings: settings),
        .target(name: "Signalling", dependencies: ["Basics"], swiftSettings: settings),
        .target(name: "Session", dependencies: ["Basics", "SDP", "Signalling"], swiftSettings: settings),
        .target(name: "Timeline", dependencies: ["Basics", "Codecs"], swiftSettings: settings),
        .target(name: "Rooms", dependencies: ["Basics", "PipelineCatalogue"], swiftSettings: settings),
        .target(name: "API", dependencies: ["Rooms"], swiftSettings: settings),
        .target(name: "Supervision", dependencies: ["Basics", "Rooms"], swiftSettings: settings),
        .target(name: "PipelineCatalogue", dependencies: ["Codecs"], swiftSettings: settings),
        .target(name: "Probing", swiftSettings: settings),
        .target(
            name: "ConfigurationFile",
            dependencies: [
                "API", "Basics", "Codecs", "EmbeddedFiles", "PipelineCatalogue", "Rooms", "Signalling",
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Observability",
            dependencies: ["Basics", logging],
            swiftSettings: settings
        ),

        .target(name: "CEmbeddedFiles"),
        .target(name: "EmbeddedFiles", dependencies: ["CEmbeddedFiles"], swiftSettings: settings),

        .target(name: "Digests", dependencies: ["Basics", "COpenSSL"], swiftSettings: settings),
        .target(name: "NameResolution", swiftSettings: settings),

        // Files
        .target(
            name: "Storage",
            dependencies: ["Basics", "Codecs", "Digests", "Matroska", "Timeline"],
            swiftSettings: settings
        ),
        .target(
            name: "Recording",
            dependencies: ["Basics", "Codecs", "Matroska", "Storage", "Timeline"],
            swiftSettings: settings
        ),
        .target(
            name: "Export",
            dependencies: ["Basics", "Codecs", "Matroska", "Storage", "Timeline"],
            swiftSettings: settings
        ),

        // Media: the only importers of C
        .target(
            name: "GStreamer",
            dependencies: ["Basics", "CGStreamer", "Codecs", "CTapedeck", "PipelineCatalogue"],
            swiftSettings: settings
        ),
        .target(
            name: "Media",
            dependencies: [
                "Basics", "Codecs", "DataChannels", "GStreamer", "Matroska", "NameResolution", "Observability",
                "PipelineCatalogue", "Recording", "Rooms", "SDP", "Session", "Signalling", "Storage", "Supervision",
                "Timeline", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),

        // Exports that decode and encode
        .target(
            name: "Rendering",
            dependencies: ["Codecs", "Export", "GStreamer", "Matroska", "Storage", "Supervision", "Timeline"],
            swiftSettings: settings
        ),

        // Network
        .target(name: "HTTPRequests", dependencies: ["Basics", "CCurl"], swiftSettings: settings),
        .target(
            name: "XMPPStream",
            dependencies: ["Basics", "CStrophe", "NameResolution", "Signalling"],
            swiftSettings: settings
        ),
        .target(
            name: "SignallingClients",
            dependencies: [
                "Basics", "HTTPRequests", "Observability", "Signalling", "Storage", "XMPPStream", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "RoomServer",
            dependencies: [
                "Basics", "EmbeddedFiles", "Observability", "Signalling", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            exclude: ["Page"],
            swiftSettings: settings
        ),

        .target(
            name: "RTSPServer",
            dependencies: ["CTapedeckRTSP", "Observability", "Rooms", "Supervision", logging],
            swiftSettings: settings
        ),

        // The daemon: the worker process, and the supervisor with its catalogue and HTTP interface
        .target(
            name: "Worker",
            dependencies: [
                "Basics", "Codecs", "ConfigurationFile", "Export", "GStreamer", "Matroska", "Media", "Observability",
                "PipelineCatalogue", "Recording", "Rendering", "Rooms", "Session", "Signalling", "SignallingClients",
                "Storage",
                "Supervision", "Timeline", logging,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Catalogue",
            dependencies: ["Basics", "Codecs", "Storage", "Timeline", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings
        ),
        .target(
            name: "Control",
            dependencies: [
                "API", "Basics", "Digests", "EmbeddedFiles", "Observability", "PipelineCatalogue", "Rooms",
                "Supervision", logging,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            exclude: ["OpenAPI", "Page"],
            swiftSettings: settings
        ),
        .target(
            name: "Daemon",
            dependencies: [
                "API", "Basics", "Catalogue", "ConfigurationFile", "Control", "Digests", "HTTPRequests",
                "Observability", "Rooms", "Storage", "Supervision", "Timeline", logging,
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),

        // What `tapedeck doctor` finds out about this host
        .target(
            name: "Diagnosis",
            dependencies: [
                "Basics", "Codecs", "Digests", "GStreamer", "NameResolution", "PipelineCatalogue", "Signalling",
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),

        // What `tapedeck verify --decode` has other programs say of our files
        .target(
            name: "Decoding",
            dependencies: [
                "Codecs", "Timeline", .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),

        // Commands and composition
        .executableTarget(
            name: "tapedeck",
            dependencies: [
                "API", "Basics", "Catalogue", "Codecs", "ConfigurationFile", "Control", "Daemon", "Decoding",
                "Diagnosis",
                "Export", "GStreamer", "HTTPRequests", "Matroska", "Media", "Observability", "PipelineCatalogue",
                "Probing", "Recording", "Rendering", "RoomServer", "Rooms", "RTSPServer", "Session", "Signalling",
                "SignallingClients", "Storage", "Supervision", "Timeline", "Worker",
                .product(name: "ArgumentParser", package: "swift-argument-parser"), logging,
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),

        // Tests
        .testTarget(name: "BasicsTests", dependencies: ["Basics"], swiftSettings: settings),
        .testTarget(
            name: "SDPTests",
            dependencies: ["Codecs", "SDP"],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(name: "DigestsTests", dependencies: ["Basics", "Digests"], swiftSettings: settings),
        .testTarget(name: "DataChannelsTests", dependencies: ["DataChannels"], swiftSettings: settings),
        .testTarget(name: "MatroskaTests", dependencies: ["Codecs", "Matroska"], swiftSettings: settings),
        .testTarget(
            name: "SignallingTests",
            dependencies: ["Basics", "SDP", "Session", "Signalling"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SessionTests",
            dependencies: ["SDP", "Session", "Signalling"],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(name: "TimelineTests", dependencies: ["Basics", "Codecs", "Timeline"], swiftSettings: settings),
        .testTarget(name: "RoomsTests", dependencies: ["Basics", "Rooms"], swiftSettings: settings),
        .testTarget(
            name: "SupervisionTests",
            dependencies: ["Basics", "Rooms", "Supervision"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PipelineCatalogueTests",
            dependencies: ["Codecs", "PipelineCatalogue"],
            swiftSettings: settings
        ),
        .testTarget(name: "ProbingTests", dependencies: ["Probing"], swiftSettings: settings),
        .testTarget(
            name: "ObservabilityTests",
            dependencies: [
                "Basics", "Observability", logging,
                .product(name: "InMemoryLogging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "DocumentationTests", exclude: ["words.json"], swiftSettings: settings),
        .testTarget(
            name: "ConfigurationFileTests",
            dependencies: [
                "API", "Basics", "Codecs", "ConfigurationFile", "EmbeddedFiles", "PipelineCatalogue", "Rooms",
                "Signalling",
                .product(name: "Yams", package: "Yams"),
            ],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CatalogueTests",
            dependencies: [
                "Basics", "Catalogue", "Codecs", "Storage", "Timeline", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ControlTests",
            dependencies: [
                "API", "Control", "EmbeddedFiles", "Observability", "Rooms", "Supervision", logging,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "WorkerTests",
            dependencies: [
                "Codecs", "Export", "GStreamer", "Matroska", "Media", "PipelineCatalogue", "Recording", "Rooms",
                "Signalling", "Storage", "Supervision", "Timeline", "Worker", logging,
                .product(name: "InMemoryLogging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "API", "Basics", "Catalogue", "Codecs", "ConfigurationFile", "Control", "Daemon", "Digests",
                "Observability", "Rooms", "Storage", "Supervision", "Timeline", logging,
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["job.sh"],
            swiftSettings: settings
        ),
        .testTarget(name: "DecodingTests", dependencies: ["Codecs", "Decoding", "Timeline"], swiftSettings: settings),
        .testTarget(
            name: "DiagnosisTests",
            dependencies: [
                "Codecs", "ConfigurationFile", "Diagnosis", "Digests", "GStreamer", "PipelineCatalogue", "Signalling",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StorageTests",
            dependencies: ["Basics", "Codecs", "Matroska", "Storage", "Timeline"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RecordingTests",
            dependencies: ["Basics", "Codecs", "Matroska", "Recording", "Storage", "Timeline"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ExportTests",
            dependencies: [
                "Basics", "Codecs", "Export", "Matroska", "Recording", "Rendering", "Storage", "Supervision",
                "Timeline", "Worker",
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "RenderingTests", dependencies: ["Rendering"], swiftSettings: settings),
        .testTarget(
            name: "GStreamerTests",
            dependencies: ["CGStreamer", "Codecs", "CTapedeck", "CTapedeckRTSP", "GStreamer", "Timeline"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "MediaTests",
            dependencies: [
                "CGStreamer", "Codecs", "CTapedeck", "ConfigurationFile", "DataChannels", "GStreamer", "Matroska",
                "Media",
                "PipelineCatalogue", "Recording", "Rooms", "SDP", "Session", "Signalling", "Storage", "Timeline",
                logging,
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SignallingClientsTests",
            dependencies: [
                "Signalling", "SignallingClients", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPRequestsTests",
            dependencies: [
                "HTTPRequests", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "XMPPStreamTests",
            dependencies: ["CStrophe", "Signalling", "XMPPStream"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RoomServerTests",
            dependencies: [
                "Basics", "Observability", "RoomServer", "Signalling", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
