// SPDX-License-Identifier: Apache-2.0

internal import Delivery
internal import Model

extension Finding {
    /// The finding of a trial of the remote.
    init(_ upload: UploadSpec, failure: RemoteFailure?) {
        guard let failure else {
            let works = "\(upload.remote) takes files and gives them back"
            let isWhole = upload.parts.isSuperset(of: [.tracks, .journal])
            self.init(
                .storage,
                "upload",
                isWhole ? .ok : .warning,
                works,
                meaning: isWhole ? nil : "parts leaves out what was recorded, and retention deletes it all the same"
            )
            return
        }
        self.init(
            .storage,
            "upload",
            .warning,
            failure.description,
            meaning: "recordings are not uploaded, and retention keeps them",
            packages: failure.kind == .program ? ["rclone"] : []
        )
    }
}
