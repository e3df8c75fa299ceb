// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ConfigurationFile
import Glibc

/// The configuration that a command goes by: where the daemon is, and where it stores.
struct ConfigurationOptions: ParsableArguments {
    /// Where the package has it.
    static let usualPath = "/etc/tapedeck/tapedeck.yaml"

    @Option(
        help:
            "The daemon's configuration file. Default: \(ConfigurationOptions.usualPath), where this account can read it."
    )
    var config: String?

    /// The file that is named, else the usual one; nil if that cannot be read.
    var path: String? { self.config ?? (access(Self.usualPath, R_OK) == 0 ? Self.usualPath : nil) }

    /// Where the daemon is and stores; nil without a file.
    func places() throws(CommandFailure) -> (api: APIConfiguration, storage: StorageConfiguration)? {
        guard let path = self.path else { return nil }
        do throws(ConfigurationError) {
            return try DaemonConfiguration.loadPlaces(path: path)
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
    }

    /// The storage directory of a command that was given `directory`, or not.
    func directory(or directory: String?) throws(CommandFailure) -> String {
        if let directory { return directory }
        return try self.places()?.storage.directory ?? "."
    }
}

/// Where recordings are read.
struct StorageOptions: ParsableArguments {
    @Option(
        name: .customLong("directory"),
        help: "Storage directory. Default: the configuration's, else the current folder."
    )
    var given: String?

    @OptionGroup var configuration: ConfigurationOptions

    /// The storage directory.
    var directory: String { get throws(CommandFailure) { try self.configuration.directory(or: self.given) } }
}
