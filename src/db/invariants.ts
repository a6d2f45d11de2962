// What is true of every sound database besides what SQLite itself holds: one entry each, with a query for the rows that break it.

export interface Invariant {
  /** What must be true. */
  readonly name: string
  /** One text column: a sentence about each thing that breaks it. `sha256(text)` is there. */
  readonly sql: string
}

const ENDED = "('completed', 'failed', 'error', 'timed_out', 'cancelled')"
const jobOf = (key: string) => `'job ' || ifnull((select id from job where job.key = ${key}), '#' || ${key})`
/** Jobs that were removed leave events and pages behind for a while. */
const gone = (key: string) => `${key} not in (select key from job) and ${key} not in (select job_key from job_doomed)`

export const INVARIANTS: readonly Invariant[] = [
  {
    name: 'the events that a job still has follow each other without a gap',
    sql: `select ${jobOf('job_key')} || ' has ' || count(*) || ' events between ' || min(sequence) || ' and ' || max(sequence)
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
    name: 'every graph is what its digest says',
    sql: "select 'graph ' || sha256 || ' has another digest' from graph where sha256(body) <> sha256",
  },
  {
    name: 'events belong to jobs',
    sql: `select 'job #' || job_key || ' does not exist and has ' || count(*) || ' events' from job_event
      where ${gone('job_key')} group by job_key`,
  },
  {
    name: 'pages of the journal belong to jobs',
    sql: `select 'job #' || job_key || ' does not exist and has ' || count(*) || ' pages' from job_journal
      where ${gone('job_key')} group by job_key`,
  },
  {
    name: 'no page of the journal comes from an attempt that its job has not made',
    sql: `select 'job ' || id || ' is at attempt ' || job.attempt || ', and its page ' || page || ' at ' || job_journal.attempt
      from job_journal join job on job_key = key where job_journal.attempt > job.attempt`,
  },
  {
    name: 'keys of submissions name jobs',
    sql: `select 'the key ' || key || ' of user ' || user_id || ' names job #' || job_key || ', which does not exist'
      from idempotency_key where job_key not in (select key from job)`,
  },
  {
    name: 'what is JSON can be read',
    sql: `select 'job ' || id || ' holds a text that is no JSON' from job where not json_valid(options)
        or not ifnull(json_valid(error), 1) or not ifnull(json_valid(result), 1) or not ifnull(json_valid(waiting), 1)
      union all select ${jobOf('job_key')} || ' has an event ' || sequence || ' that is no JSON' from job_event
        where not json_valid(payload)
      union all select 'workflow ' || id || ' holds a text that is no JSON' from workflow
        where not json_valid(tags) or not json_valid(settings)
      union all select 'graph ' || sha256 || ' is no JSON' from graph where not json_valid(body)
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
]
