// SPDX-License-Identifier: Apache-2.0

import Catalogue
import GRDB

extension DaemonBench {
    /// Does something to the catalogue's file, as another program that has it open.
    func execute(_ sql: String) throws {
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: Catalogue.path(in: self.storage), configuration: configuration)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// Has the catalogue refuse changes of exports that it knows, where an expression of SQL is true.
    func refuseExports(where expression: String) throws {
        try self.execute(
            """
            CREATE TRIGGER refusal BEFORE UPDATE ON exports WHEN \(expression) BEGIN
                SELECT RAISE(ABORT, 'not now');
            END
            """
        )
    }

    /// Has it take them again.
    func takeExports() throws { try self.execute("DROP TRIGGER refusal") }
}
