-- The times of the lines in each granule, so that a page of a large log reads only the granules
-- around its place. Existing parts get the index when they merge.
ALTER TABLE logs ADD INDEX IF NOT EXISTS times timestamp TYPE minmax GRANULARITY 1;
