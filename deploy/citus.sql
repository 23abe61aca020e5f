-- Distributes the tables of Causeline over the servers of a Citus cluster, by source. Read docs/how-to/scale-out.md first:
-- not everything works afterwards. Run it once, as the owner of the tables, in a database that `causeline manage migrate`
-- has prepared and that holds no source yet:
--
--     psql --set ON_ERROR_STOP=1 --single-transaction --file deploy/citus.sql "$DATABASE_URL"

-- Citus would convert each table that foreign keys connect with a copied one, and fails at the circle between clusters and
-- their sources. Django deletes what belongs to a deleted row by itself.
DO $$
DECLARE found record;
BEGIN
    FOR found IN
        SELECT conrelid::regclass AS name, conname FROM pg_constraint
        WHERE contype = 'f' AND ARRAY[conrelid, confrelid]::regclass[]::text[] && ARRAY(
            SELECT relname::text FROM pg_class
            WHERE relname LIKE 'timeline\_%' AND relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace)
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', found.name, found.conname);
    END LOOP;
END $$;

-- Every server has a copy of these tables, which are small and are read together with the others.
SELECT create_reference_table(name::regclass) FROM unnest(ARRAY[
    'timeline_cluster',
    'timeline_hold',
    'timeline_noticed_incident',
    'timeline_silence',
    'timeline_source',
    'timeline_upload',
    'timeline_usage'
]) AS name;

-- All rows of one source are on one server.
SELECT create_distributed_table('timeline_track', 'source_id');
SELECT create_distributed_table(name::regclass, 'source_id', colocate_with => 'timeline_track') FROM unnest(ARRAY[
    'timeline_acknowledgement',
    'timeline_actor_feed',
    'timeline_actor_row',
    'timeline_addition',
    'timeline_audit_batch',
    'timeline_baselineincident',
    'timeline_chunk',
    'timeline_delta',
    'timeline_finding',
    'timeline_freed',
    'timeline_gap',
    'timeline_incident',
    'timeline_symptom',
    'timeline_separate_symptom',
    'timeline_intent_change',
    'timeline_log',
    'timeline_log_page',
    'timeline_memory',
    'timeline_object_view',
    'timeline_occurrence',
    'timeline_share',
    'timeline_stream',
    'timeline_strip'
]) AS name;
