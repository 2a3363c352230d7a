import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;

/** What is known of a tier that keeps nothing. */
public class EmptyTierMetadata implements RemoteLogMetadataManager {
    public void configure(Map<String, ?> configs) { }

    public void close() { }

    public CompletableFuture<Void> addRemoteLogSegmentMetadata(RemoteLogSegmentMetadata metadata) {
        return CompletableFuture.completedFuture(null);
    }

    public CompletableFuture<Void> updateRemoteLogSegmentMetadata(RemoteLogSegmentMetadataUpdate update) {
        return CompletableFuture.completedFuture(null);
    }

    public Optional<RemoteLogSegmentMetadata> remoteLogSegmentMetadata(TopicIdPartition topic, int epoch, long offset) {
        return Optional.empty();
    }

    public Optional<Long> highestOffsetForEpoch(TopicIdPartition topic, int epoch) {
        return Optional.empty();
    }

    public CompletableFuture<Void> putRemotePartitionDeleteMetadata(RemotePartitionDeleteMetadata metadata) {
        return CompletableFuture.completedFuture(null);
    }

    public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition topic) {
        return Collections.emptyIterator();
    }

    public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition topic, int epoch) {
        return Collections.emptyIterator();
    }

    public void onPartitionLeadershipChanges(Set<TopicIdPartition> leaders, Set<TopicIdPartition> followers) { }

    public void onStopPartitions(Set<TopicIdPartition> partitions) { }

    public long remoteLogSize(TopicIdPartition topic, int epoch) {
        return 0;
    }
}
