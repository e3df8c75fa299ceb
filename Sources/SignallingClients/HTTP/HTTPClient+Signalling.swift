// SPDX-License-Identifier: Apache-2.0

internal import HTTPRequests
internal import Signalling

extension HTTPClient {
    /// Sends a machine's request and takes the answer, whatever its status.
    ///
    /// The task's cancellation ends it.
    func send(_ request: HTTPRequest) async -> Result<HTTPAnswer, SignallingError> {
        var message = HTTPClient.Request(request.method, request.url.description)
        message.headers = request.headers.map { HTTPClient.Header($0.name, $0.value) }
        message.body = request.body
        message.timeout = request.timeout
        message.maximumBodyBytes = HTTPAnswer.maximumBodyBytes
        do throws(HTTPClient.Failure) {
            let answer = try await self.send(message)
            let headers = answer.headers.map { HTTPField($0.name, $0.value) }
            return .success(HTTPAnswer(status: answer.status, headers: headers, body: answer.body))
        } catch {
            return .failure(ConnectionFailure.error(for: error, address: request.url.address))
        }
    }
}
