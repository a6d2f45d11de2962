// SQL expressions and conditions of indexes. SQLite uses such an index only for a query with the same words, so queries take them from here.
// Migrations keep texts of their own, since they must not change; a test compares them.
import { sql } from 'kysely'

/** The workspace of an owned row, or '' outside of any. */
export const WORKSPACE = sql<string>`ifnull(workspace_id, '')`
/** The folder of an asset, or '' at the top level. */
export const PARENT = sql<string>`ifnull(parent_id, '')`
/** The content type of an asset without parameters, in lower case. */
export const ESSENCE = sql<string>`lower(rtrim(substr(content_type, 1, instr(content_type || ';', ';') - 1)))`
/** The first half of the content type of an asset, in lower case. */
export const FAMILY = sql<string>`lower(substr(content_type, 1, instr(content_type || '/', '/') - 1))`

/** The statuses of jobs that have ended. */
export const ENDED = "('completed', 'failed', 'error', 'timed_out', 'cancelled')"

/** Jobs that lists contain. */
export const LISTED = sql<boolean>`instr(options, '"persistence":"session"') = 0`
/** Jobs that have not ended. */
export const UNFINISHED = sql<boolean>`status not in ${sql.raw(ENDED)}`
/** Assets with bytes whose preview was not created yet. */
export const UNPREVIEWED = sql<boolean>`previewed = 0 and content_key is not null`
