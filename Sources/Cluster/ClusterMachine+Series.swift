// SPDX-License-Identifier: Apache-2.0

/// Series of recordings that several hosts made: one host brings each together, another one only if that host stays away.
extension ClusterMachine {
    /// The most series that ended in a room and that the store does not have yet.
    private static let mostEnded = 16

    // MARK: Ends

    /// Notes that a series of several owners ended in a room.
    mutating func noteEnds(_ room: String, _ before: RecordingPointer?, _ after: RecordingPointer?) {
        guard let after, after != before else { return }
        var ended: [RecordingPointer] = []
        if let before, before.isRecording, before.series != after.series { ended.append(before) }
        if !after.isRecording { ended.append(after) }
        for pointer in ended where pointer.isShared && self.view.series[pointer.series] == nil {
            self.holdings[room]?.ended.removeAll { $0.series == pointer.series }
            self.holdings[room]?.ended.append(pointer)
        }
        let count = self.holdings[room]?.ended.count ?? 0
        if count > Self.mostEnded { self.holdings[room]?.ended.removeFirst(count - Self.mostEnded) }
    }

    /// What a write of the owner of a room adds: this host brings together what ended there.
    func endedSeries(_ room: String, epoch: Int) -> [RoomWrite.Put] {
        (self.holdings[room]?.ended ?? []).map { pointer in
            let record = SeriesRecord(room: room, host: self.settings.host, epoch: epoch, pointer: pointer)
            return RoomWrite.Put(
                key: .series(pointer.series),
                value: record.text,
                isLeased: false,
                created: self.view.series[pointer.series]?.stored.created
            )
        }
    }

    /// The store has series that ended in a room.
    mutating func haveEnded(_ room: String, _ puts: [RoomWrite.Put]) {
        for case .series(let id) in puts.map(\.key) { self.holdings[room]?.ended.removeAll { $0.series == id } }
    }

    // MARK: Who brings a series together

    /// Takes over series whose host stays away, deletes those that are brought together, and says which there are.
    mutating func driveSeries(_ now: Duration) {
        self.gathered = self.gathered.filter { self.view.series[$0] != nil }
        if self.isConnected {
            for (id, entry) in self.view.series.sorted(by: { $0.key < $1.key }) { self.drive(id, entry, now) }
        }
        self.orphans = self.orphans.filter { self.isConnected && self.view.series[$0.key] != nil }
        self.seriesRetry = self.seriesRetry.filter { $0.value > now }
        let losses = self.orphans.values.map { $0 + self.settings.gathererLoss }
        self.nextSeries = (losses + self.seriesRetry.values).filter { $0 > now }.min()
        self.tellSeries()
    }

    private mutating func drive(_ id: String, _ entry: ClusterView.Entry<SeriesRecord>, _ now: Duration) {
        guard let record = entry.record else {
            self.reportOnce(.unusable(.series(id), entry.reading.problem ?? ""))
            return
        }
        let isOwn = record.host == self.settings.host
        if isOwn || self.view.hosts[record.host] != nil {
            self.orphans[id] = nil
            if isOwn, self.gathered.contains(id) { self.write(id, entry, nil, now) }
            return
        }
        let since = self.orphans[id] ?? now
        self.orphans[id] = since
        // A number that no host before had: what each of them makes has another name.
        guard now >= since + self.settings.gathererLoss, self.succeeds(record),
            record.epoch < OwnerRecord.epochs.upperBound
        else { return }
        let epoch = record.epoch + 1
        let successor = SeriesRecord(room: record.room, host: self.settings.host, epoch: epoch, pointer: record.pointer)
        self.write(id, entry, successor, now)
    }

    /// Whether this host brings a series together whose host stays away: the owner of the room does, or the first of the hosts
    /// by name where there is no room of the name any more.
    private func succeeds(_ record: SeriesRecord) -> Bool {
        guard !self.isStopping, !self.isDraining else { return false }
        if let holding = self.holdings[record.room] { return holding.phase == .held }
        return self.view.rooms[record.room] == nil && self.view.claims[record.room] == nil
            && self.view.hosts.keys.min() == self.settings.host
    }

    /// Writes a series as it was seen, or deletes it.
    private mutating func write(
        _ id: String,
        _ entry: ClusterView.Entry<SeriesRecord>,
        _ record: SeriesRecord?,
        _ now: Duration
    ) {
        guard !self.busySeries.contains(id), now >= self.seriesRetry[id] ?? now else { return }
        self.busySeries.insert(id)
        let key = ClusterKey.series(id).text(cluster: self.settings.cluster)
        let put = record.map {
            RoomWrite.Put(key: .series(id), value: $0.text, isLeased: false, created: entry.stored.created)
        }
        self.send(
            .transact(
                StoreTransaction(
                    if: [.modified(key: key, entry.stored.modified)],
                    then: [put.map { .put(key: key, value: $0.value) } ?? .delete(key: key)],
                    else: [.get(key: key)]
                )
            ),
            for: .series(id, put)
        )
    }

    mutating func seriesWritten(
        _ id: String,
        _ put: RoomWrite.Put?,
        _ result: Result<StoreAnswer, StoreError>,
        _ now: Duration
    ) {
        self.busySeries.remove(id)
        guard case .success(.transacted(let answer)) = result else {
            self.seriesRetry[id] = now + self.wait(after: result)
            return
        }
        if !answer.hasSucceeded {
            self.merge(self.view.take(answer.values.first ?? nil, of: .series(id), at: answer.revision), now)
        } else if let put {
            self.written([put], result, under: nil, now)
        } else {
            self.merge(self.view.take(nil, of: .series(id), at: answer.revision), now)
        }
    }

    private mutating func tellSeries() {
        let series = self.isConnected ? self.view.series.compactMapValues(\.record) : nil
        let hosts = series?.isEmpty == false ? Set(self.view.hosts.keys) : []
        if let told = self.toldSeries {
            guard told.series != series || told.hosts != hosts else { return }
        } else if series == nil {
            return
        }
        self.toldSeries = (series, hosts)
        self.actions.append(.gather(series, hosts: hosts))
    }
}
