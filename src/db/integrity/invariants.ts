// The invariants of a sound database besides those that SQLite enforces: each entry has a query for the rows that violate it.
import { ENDED } from '../index-expressions.ts'

export interface Invariant {
  /** What must be true. */
  readonly name: string
  /** Returns one text column: a sentence for each violation. The function `sha256(text)` is available. */
  readonly sql: string
}

const jobLabel = (key: string) => `'job ' || ifnull((select id from job where job.key = ${key}), '#' || ${key})`
/** Removed jobs leave events and pages behind for a while. */
const isOrphaned = (key: string) =>
  `${key} not in (select key from job) and ${key} not in (select job_key from job_doomed)`

/** The text of a large graph is in parts. */
const GRAPH_TEXT = `iif(parts is null, body,
  (select ifnull(string_agg(graph_part.body, '' order by at), '') from graph_part where graph_part.sha256 = graph.sha256))`

/** The text of a large result is in parts. */
const JOB_RESULT = `iif(result_parts is null, result,
  (select ifnull(string_agg(result_part.body, '' order by at), '') from result_part where job_key = key and at < result_parts))`

export const INVARIANTS: readonly Invariant[] = [
  {
    name: 'the events that a job still has follow each other without a gap',
    sql: `select ${jobLabel('job_key')} || ' has ' || count(*) || ' events between ' || min(sequence) || ' and ' || max(sequence)
      from job_event group by job_key having count(*) <> max(sequence) - min(sequence) + 1`,
  },
  {
    name: 'the last event of a job is the one that its row names',
    sql: `select 'job ' || id || ' names ' || last_sequence || ' as its last event, and has ' || last
      from job join (select job_key, max(sequence) as last from job_event group by job_key) on job_key = key
      where last <> last_sequence`,
  },
  {
    name: 'a job that has not ended has its events',
    sql: `select 'job ' || id || ' is ' || status || ' and has none of its ' || last_sequence || ' events' from job
      where status not in ${ENDED} and last_sequence > 0 and not exists (select 1 from job_event where job_key = key)`,
  },
  {
    name: 'a job has a time of its end when it has ended, and then alone',
    sql: `select 'job ' || id || ' is ' || status || ' and ended at ' || ifnull(finished_at, 'no time') from job
      where (status in ${ENDED}) <> (finished_at is not null)`,
  },
  {
    name: 'a completed job has its result, a failed one its error',
    sql: `select 'job ' || id || ' is ' || status || ' and has no ' || iif(status = 'completed', 'result', 'error') from job
      where (status = 'completed' and result is null) or (status in ('failed', 'error', 'timed_out') and error is null)`,
  },
  {
    name: 'the last event of a job that has ended says so',
    sql: `select 'job ' || id || ' is ' || status || ', and its last event is ' || type from job
      join job_event on job_key = key and sequence = last_sequence
      where status in ${ENDED} and type <> 'job_terminal'`,
  },
  {
    name: 'no other event says that a job has ended',
    sql: `select 'job ' || id || ' is ' || status || ', and its event ' || sequence || ' says that it has ended' from job_event
      join job on job_key = key
      where type = 'job_terminal' and (status not in ${ENDED} or sequence <> last_sequence)`,
  },
  {
    name: 'every job has its graph',
    sql: `select 'job ' || id || ' has no graph ' || graph_sha256 from job
      where graph_sha256 not in (select sha256 from graph)`,
  },
  {
    // The key of a graph is its digest, and since decision record 134 a mark of its owner.
    name: 'every graph is what its digest says',
    sql: `select 'graph ' || sha256 || ' has another digest' from graph where sha256(${GRAPH_TEXT}) <> substr(sha256, 1, 64)`,
  },
  {
    name: 'a result has its parts, and they belong to jobs',
    sql: `select 'job ' || id || ' has ' || count(at) || ' of ' || result_parts || ' parts of its result' from job
        left join result_part on job_key = key and at < result_parts where result_parts is not null group by key having count(at) <> result_parts
      union all select 'job #' || job_key || ' does not exist and has ' || count(*) || ' parts of a result' from result_part
        where ${isOrphaned('job_key')} group by job_key`,
  },
  {
    name: 'events belong to jobs',
    sql: `select 'job #' || job_key || ' does not exist and has ' || count(*) || ' events' from job_event
      where ${isOrphaned('job_key')} group by job_key`,
  },
  {
    name: 'what was removed of histories belongs to jobs, and is older than what they still have',
    sql: `select 'job #' || job_key || ' does not exist, and events of it are counted as removed' from job_trimmed
        where job_key not in (select key from job) group by job_key
      union all select ${jobLabel('job_key')} || ' has its event ' || first || ', and counts ' || removed || ' before it as removed' from
        (select job_key, sum(count) as removed from job_trimmed group by job_key) join
        (select job_key, min(sequence) as first from job_event group by job_key) using (job_key) where removed >= first`,
  },
  {
    name: 'pages of the journal belong to jobs',
    sql: `select 'job #' || job_key || ' does not exist and has ' || count(*) || ' pages' from job_journal
      where ${isOrphaned('job_key')} group by job_key`,
  },
  {
    name: 'a job whose journal is being removed has completed',
    sql: `select 'job ' || id || ' is ' || status || ', and its journal is being removed' from job
      where key in (select job_key from job_doomed) and status <> 'completed'`,
  },
  {
    name: 'large values that are remembered belong to jobs that have a journal',
    sql: `select 'job #' || job_key || ' does not exist and has ' || count(*) || ' large values' from spilled_value
        where job_key is not null and ${isOrphaned('job_key')} group by job_key
      union all select ${jobLabel('job_key')} || ' has ' || count(*) || ' large values and no pages' from spilled_value
        where job_key in (select key from job) and job_key not in (select job_key from job_journal) group by job_key`,
  },
  {
    name: 'no page of the journal comes from an attempt that its job has not made',
    sql: `select 'job ' || id || ' is at attempt ' || job.attempt || ', and its page ' || page || ' at ' || job_journal.attempt
      from job_journal join job on job_key = key where job_journal.attempt > job.attempt`,
  },
  {
    name: 'keys of submissions name jobs of their owners',
    sql: `select 'the key ' || k.key || ' of user ' || k.user_id || ' names job ' || job.id || ' of user ' || job.user_id
      from idempotency_key k join job on k.job_key = job.key
      where k.user_id <> job.user_id or k.workspace <> ifnull(job.workspace_id, '')`,
  },
  {
    name: 'the messages of a thread are numbered from 1 to the last one that its row names',
    sql: `select 'thread ' || thread.id || ' names ' || last_sequence || ' as its last message, and has ' || count(sequence)
        || ' up to ' || ifnull(max(sequence), 0) from thread left join message on thread_key = key
      where user_id <> '' group by key
      having count(sequence) <> last_sequence or ifnull(max(sequence), 0) <> last_sequence`,
  },
  {
    name: 'a message has an error when it has failed, and then alone',
    sql: `select 'message ' || id || ' is ' || status || ' and has ' || iif(error is null, 'no', 'an') || ' error'
      from message where (status = 'failed') <> (error is not null)`,
  },
  {
    name: 'an asset has a small picture where its metadata says so, and only once somebody has looked',
    sql: `select 'asset ' || id || ' has ' || iif(thumb_key is null, 'no', 'a') || ' small picture, and ' || case previewed
        when 0 then 'nobody has looked' when 1 then 'says otherwise' else 'counts ' || previewed || ' looks' end from asset
      where previewed not in (0, 1) or (thumb_key is not null and previewed = 0)
        or (thumb_key is not null) <> (iif(json_valid(metadata), metadata ->> '$.thumb.sha256', thumb_key) is not null)`,
  },
  {
    name: 'an asset has bytes, or is a folder',
    sql: `select 'asset ' || id || ' is a ' || content_type || ', and has ' || iif(content_key is null, 'no bytes', 'bytes') from asset
      where (content_type = 'folder') <> (content_key is null) or (content_key is null) <> (sha256 is null)
      or (content_key is null) <> (storage_key is null)`,
  },
  {
    name: 'an asset lies at the top level, or in a folder of its owner, and no folder in itself',
    sql: `with recursive found(id, user_id, workspace) as (
        select id, user_id, ifnull(workspace_id, '') from asset where parent_id is null
        union all select id, user_id, workspace from deleted_folder
        union all select asset.id, asset.user_id, ifnull(asset.workspace_id, '') from found cross join asset
          where asset.user_id = +found.user_id and ifnull(asset.workspace_id, '') = +found.workspace
          and ifnull(asset.parent_id, '') = +found.id)
      select 'asset ' || id || ' is not found from the top level: it lies in ' || parent_id from asset
        where id not in (select id from found)
      union all select 'asset ' || asset.id || ' lies in ' || holder.id || ', which is no folder' from asset
        join asset holder on holder.id = asset.parent_id where holder.content_type <> 'folder'`,
  },
  {
    name: 'a folder that was deleted has no row any more',
    sql: "select 'the folder ' || id || ' was deleted, and is there' from deleted_folder where id in (select id from asset)",
  },
  {
    name: 'every asset is found by its name, and nothing else is',
    sql: `select 'asset ' || id || ' has no words' from asset where key not in (select id from asset_name_docsize)
      union all select 'asset #' || id || ' does not exist, and has words' from asset_name_docsize
        where id not in (select key from asset)`,
  },
  {
    name: 'an object is temporary where its key says so, and its bytes are kept as those of its user',
    sql: `select 'the object ' || storage_key || ' of user ' || user_id || ' expires '
          || iif(expires_at is null, 'never', 'at ' || expires_at) from object
        where (storage_key glob 'temp/*') <> (expires_at is not null)
      union all select 'the object ' || storage_key || ' of user ' || user_id || ' has the bytes of something else'
        from (select *, sha256(user_id || char(0) || sha256) as name from object)
        where content_key <> substr(name, 1, 2) || '/' || substr(name, 3, 2) || '/' || name`,
  },
  {
    name: 'no key is that of an object and of an asset',
    sql: `select 'the key ' || object.storage_key || ' is that of an object and of the asset ' || asset.id from object
      join asset on asset.storage_key = object.storage_key and ifnull(asset.workspace_id, '') = ifnull(object.workspace_id, '')`,
  },
  {
    name: 'what is JSON can be read',
    sql: `select 'job ' || id || ' holds a text that is no JSON' from job where not json_valid(options)
        or not ifnull(json_valid(error), 1) or not ifnull(json_valid(${JOB_RESULT}), 1) or not ifnull(json_valid(waiting), 1)
        or not ifnull(json_valid(preflight), 1)
      union all select ${jobLabel('job_key')} || ' has an event ' || sequence || ' that is no JSON' from job_event
        where not json_valid(payload)
      union all select 'workflow ' || id || ' holds a text that is no JSON' from workflow
        where not json_valid(tags) or not json_valid(settings)
      union all select 'message ' || id || ' holds a text that is no JSON' from message where not ifnull(json_valid(content), 1)
        or not ifnull(json_valid(tool_calls), 1) or not ifnull(json_valid(usage), 1)
      union all select 'asset ' || id || ' holds a text that is no JSON' from asset where not json_valid(metadata)
      union all select 'graph ' || sha256 || ' is no JSON' from graph where not json_valid(${GRAPH_TEXT})
      union all select 'token ' || id || ' has scopes that are no JSON' from access_token where not json_valid(scopes)
      union all select 'token ' || id || ' has scopes that are no JSON' from mcp_token where not json_valid(scopes)
      union all select 'the setting ' || name || ' of user ' || user_id || ' is no JSON' from user_setting
        where not json_valid(value)`,
  },
  {
    name: 'tokens are kept as SHA-256 digests',
    sql: `select 'token ' || id || ' has a digest of ' || length(digest) || ' bytes' from
      (select id, digest from access_token union all select id, digest from mcp_token) where length(digest) <> 32`,
  },
  {
    name: 'secrets of users are sealed',
    sql: `select 'the secret ' || name || ' of user ' || user_id || ' is no sealed value' from user_secret
      where length(body) < 34 or hex(substr(body, 1, 1)) <> '01'`,
  },
  {
    name: 'an index of vectors counts its entries and their bytes',
    sql: `select 'the index ' || name || ' of ' || user_id || ' counts ' || count || ' entries of ' || bytes || ' bytes, and has '
      || (select count(*) || ' of ' || ifnull(sum(bytes), 0) from vector_entry where index_key = vector_index.key)
      from vector_index where count <> (select count(*) from vector_entry where index_key = vector_index.key)
      or bytes <> (select ifnull(sum(bytes), 0) from vector_entry where index_key = vector_index.key)`,
  },
]
