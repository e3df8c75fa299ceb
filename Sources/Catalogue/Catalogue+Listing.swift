// SPDX-License-Identifier: Apache-2.0

import GRDB

extension Catalogue {
    /// A page of recordings, newest first; throws `invalid` for a limit out of range and a cursor of another query.
    public func list(_ filter: RecordingFilter) async throws -> RecordingListing {
        let query = try ListingQuery(filter)
        return try await self.read { database in
            // One more row than requested shows whether there is a next page.
            var rows = try Row.fetchAll(database, sql: query.sql, arguments: query.arguments)
            let hasMore = rows.count > filter.limit
            if hasMore { rows.removeLast() }
            let participants = try Self.participants(of: rows.map { $0["position"] }, database)
            let recordings = try rows.map { row in
                var entry = try RecordingEntry(row)
                entry.participants = participants[row["position"]] ?? []
                return entry
            }
            let last = hasMore ? rows.last.map { RecordingCursor(position: $0["position"]).text } : nil
            return RecordingListing(recordings: recordings, next: last)
        }
    }
}

/// The statement of a page.
///
/// Its text depends only on which conditions there are; what they say is bound.
private struct ListingQuery {
    var sql: String
    var arguments: StatementArguments

    init(_ filter: RecordingFilter) throws {
        guard (1...RecordingFilter.maximumLimit).contains(filter.limit) else {
            throw CatalogueError(.invalid, "limit is 1 to \(RecordingFilter.maximumLimit), not \(filter.limit)")
        }
        var conditions: [String] = []
        var arguments: [(any DatabaseValueConvertible)?] = []
        var table = "recordings"
        let question = filter.text.flatMap(SearchText.question)
        // A room's name is part of the text, so that the index finds both together.
        let questions = [question, question == nil ? nil : filter.room.flatMap(SearchText.question)].compactMap { $0 }
        let phrases = questions.compactMap(SearchText.phrase)
        if question != nil, phrases.count == questions.count {
            table = "recordings_text CROSS JOIN recordings ON recordings.position = recordings_text.rowid"
            conditions.append("recordings_text MATCH ?")
            arguments.append(phrases.joined(separator: " AND "))
        } else if let question {
            conditions.append("instr(search, ?) > 0")
            arguments.append(question)
        }
        let position = table == "recordings" ? "position" : "recordings_text.rowid"
        if let room = filter.room {
            conditions.append("room = ?")
            arguments.append(SearchText.storable(room))
        }
        if let cursor = filter.cursor {
            guard let cursor = RecordingCursor(text: cursor) else {
                throw CatalogueError(.invalid, "the cursor is not one that a page gave")
            }
            conditions.append("\(position) < ?")
            arguments.append(cursor.position)
        }
        if let from = filter.from {
            conditions.append("\(position) >= ?")
            arguments.append(from.position)
        }
        if let to = filter.to {
            conditions.append("\(position) < ?")
            arguments.append(to.position)
        }
        let condition = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
        self.sql = "SELECT recordings.* FROM \(table)\(condition) ORDER BY \(position) DESC LIMIT ?"
        arguments.append(filter.limit + 1)
        self.arguments = StatementArguments(arguments)
    }
}
