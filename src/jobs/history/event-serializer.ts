// Makes the events that clients get, as JSON text and as `job_event` frames: the stored event, and the fields that all events of its job share.
import type { JobEventFrame } from '../../../generated/types.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import { DerivedValueCache } from '../../events/derived-value-cache.ts'
import type { FeedItem } from '../../events/job-feed.ts'
import { LazyEvent } from '../../events/lazy-event.ts'
import { encodeEventText } from '../../events/stored-event-codec.ts'
import type { EventBody } from '../../events/types.ts'

/** A feed item that is an event, not a provisional frame. */
export interface JobEventItem extends FeedItem {
  readonly sequence: number
  readonly event: EventBody
}

export function isEventItem(item: FeedItem): item is JobEventItem {
  return item.sequence !== null && item.event !== null
}

// The texts lack the fields of the job, which a feed item does not have.
const eventBodyTexts = new DerivedValueCache<JobEventItem, string>(({ event, timestamp }) => {
  return `"timestamp":${JSON.stringify(timestamp)},${encodeEventText(event).slice(1)}`
})

/** The job's fields in each of its events. Readers may be slow, so a writer to a reader keeps no more of the job than this. */
export type EventJobFields = Pick<JobTable, 'id' | 'workflow_id' | 'workspace_id'>

/**
 * Serializes the events of one job, each as a `JobEvent` in two parts. The second part may be large, and is shared by all followers of the job; joining
 * the parts would copy it.
 */
export function createEventSerializer(job: EventJobFields): (item: JobEventItem) => [string, string] {
  const shared = JSON.stringify(toSharedFields(job)).slice(1, -1)
  return (item) => [`{"sequence":${item.sequence},${shared},`, eventBodyTexts.get(item)]
}

function toSharedFields({ id: job_id, workflow_id, workspace_id }: EventJobFields) {
  return { job_id, workflow_id, workspace_id }
}

/** Frames by item. All sockets share the object, so that it is encoded once. It lives as long as its item. */
const framesByItem = new WeakMap<JobEventItem, JobEventFrame>()

export function createJobEventFrame(job: EventJobFields, item: JobEventItem): JobEventFrame {
  const cached = framesByItem.get(item)
  if (cached) return cached
  const { sequence, timestamp, event } = item
  const body = event instanceof LazyEvent ? event.body : event
  const frame = {
    type: 'job_event',
    job_id: job.id,
    event: { sequence, ...toSharedFields(job), timestamp, ...body },
  } as JobEventFrame
  framesByItem.set(item, frame)
  return frame
}
