// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HummingbirdTesting
import Testing

@testable import Control

@Suite struct EndpointTests {
    @Test(arguments: [
        ("/v1/rooms", 200), ("/v1/rooms/standup", 200), ("/v1/rooms/nobody", 404), ("/v1/recordings", 200),
        ("/v1/recordings/r1", 200), ("/v1/recordings/r1/exports", 200), ("/v1/overview", 200), ("/healthz", 200),
        ("/readyz", 200), ("/metrics", 200), ("/", 200), ("/v1/openapi.yaml", 200), ("/v1/session", 200),
        ("/v1/rooms/standup/graphs", 200), ("/v1/rooms/standup/participants/alice/thumbnail.jpg", 200),
        ("/nothing", 404), ("/v1", 404), ("/v1/rooms/", 404),
    ])
    func gets(_ path: String, _ status: Int) async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let response = try await client.send(.get, path)
            #expect(response.status.code == status)
        }
    }
}
