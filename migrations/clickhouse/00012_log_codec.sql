-- Searches for a text in logs spend most of their time on decompressing the messages, which is twice
-- as fast with LZ4. The messages are 45 % larger, the table 9 %. Existing parts change when they merge.
ALTER TABLE logs MODIFY COLUMN message CODEC(LZ4HC(4));
