// Events as clients read them: what is stored of one, and what all events of its job share, as JSON text.
import type { JobTable } from '../db/schema.ts'
import type { FeedItem } from '../events/feed.ts'
import { Shared } from '../events/shared.ts'
import { eventText } from '../events/stored.ts'
import type { EventBody } from '../events/types.ts'

/** An item of a history that is an event, and no provisional frame. */
export interface EventItem extends FeedItem {
  readonly sequence: number
  readonly event: EventBody
}

export function isEvent(item: FeedItem): item is EventItem {
  return item.sequence !== null && item.event !== null
}

// Without what depends on the job, which an item does not know.
const bodies = new Shared<EventItem, string>(({ event, timestamp }) => {
  return `"timestamp":${JSON.stringify(timestamp)},${eventText(event).slice(1)}`
})

/** What all events of a job say of it. Readers may be slow: whoever writes to them keeps no more of the job than this. */
export type EventJob = Pick<JobTable, 'id' | 'workflow_id' | 'workspace_id'>

/**
 * Writes the events of one job, each as a `JobEvent` in two parts. The second, which may be large, is the same text for many who follow
 * one job; joined to the first it would be a copy.
 */
export function eventWriter({ id, workflow_id, workspace_id }: EventJob): (item: EventItem) => [string, string] {
  const shared = JSON.stringify({ job_id: id, workflow_id, workspace_id }).slice(1, -1)
  return (item) => [`{"sequence":${item.sequence},${shared},`, bodies.of(item)]
}
