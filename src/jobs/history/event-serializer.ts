// Events as clients read them: what is stored of one, and what all events of its job share, as JSON text.
import type { JobTable } from '../../db/schema.ts'
import { DerivedValueCache } from '../../events/derived-value-cache.ts'
import type { FeedItem } from '../../events/job-feed.ts'
import { encodeEventText } from '../../events/stored-event-codec.ts'
import type { EventBody } from '../../events/types.ts'

/** An item of a history that is an event, and no provisional frame. */
export interface JobEventItem extends FeedItem {
  readonly sequence: number
  readonly event: EventBody
}

export function isEventItem(item: FeedItem): item is JobEventItem {
  return item.sequence !== null && item.event !== null
}

// Without what depends on the job, which an item does not know.
const eventBodyTexts = new DerivedValueCache<JobEventItem, string>(({ event, timestamp }) => {
  return `"timestamp":${JSON.stringify(timestamp)},${encodeEventText(event).slice(1)}`
})

/** What all events of a job say of it. Readers may be slow: whoever writes to them keeps no more of the job than this. */
export type EventJobFields = Pick<JobTable, 'id' | 'workflow_id' | 'workspace_id'>

/**
 * Writes the events of one job, each as a `JobEvent` in two parts. The second, which may be large, is the same text for many who follow
 * one job; joined to the first it would be a copy.
 */
export function createEventSerializer({
  id,
  workflow_id,
  workspace_id,
}: EventJobFields): (item: JobEventItem) => [string, string] {
  const shared = JSON.stringify({ job_id: id, workflow_id, workspace_id }).slice(1, -1)
  return (item) => [`{"sequence":${item.sequence},${shared},`, eventBodyTexts.get(item)]
}
