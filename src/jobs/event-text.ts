// Events as clients read them: what is stored of one, and what all events of its job share, as JSON text.
import type { JobTable } from '../db/schema.ts'
import type { FeedItem } from '../events/feed.ts'
import { Shared } from '../events/shared.ts'
import type { EventBody } from '../events/types.ts'
import { jsonText } from '../json.ts'

/** An item of a history that is an event, and no provisional frame. */
export interface EventItem extends FeedItem {
  readonly sequence: number
  readonly event: EventBody
}

export function isEvent(item: FeedItem): item is EventItem {
  return item.sequence !== null && item.event !== null
}

// Without what depends on the job, which an item does not know.
const bodies = new Shared<FeedItem, string>(({ event, timestamp }) => {
  return `"timestamp":${JSON.stringify(timestamp)},${jsonText(event).slice(1)}`
})

/** Writes the events of one job, each as a `JobEvent`. Many followers of one living job share the work. */
export function eventWriter({ id, workflow_id, workspace_id }: JobTable): (item: EventItem) => string {
  const shared = JSON.stringify({ job_id: id, workflow_id, workspace_id }).slice(1, -1)
  return (item) => `{"sequence":${item.sequence},${shared},${bodies.of(item)}`
}
