# examples/task_with_sdk.py

from flowforge import client

def main():
    # Get checkpoint if task is being retried
    checkpoint = client.get_checkpoint()
    start_idx = checkpoint.get('last_idx', 0) if checkpoint else 0

    client.log("Starting data processing", level="INFO")
    client.status("RUNNING", progress=0)

    data = load_data()
    total = len(data)

    for idx, item in enumerate(data[start_idx:], start=start_idx):
        try:
            result = process_item(item)

            # Update progress
            progress = int((idx + 1) / total * 100)
            client.status("RUNNING", progress=progress)
            client.metric("items_processed", idx + 1)

            # Save checkpoint periodically
            if idx % 100 == 0:
                client.checkpoint({"last_idx": idx})
                client.log(f"Checkpoint saved at index {idx}")

        except Exception as e:
            client.log(f"Error processing item {idx}: {e}", level="ERROR")
            client.checkpoint({"last_idx": idx})
            raise

    # Store output for downstream tasks
    client.output("processed_count", total)
    client.output("output_path", "/data/output.parquet")

    client.status("SUCCEEDED")
    client.log("Processing completed successfully")

if __name__ == "__main__":
    main()
