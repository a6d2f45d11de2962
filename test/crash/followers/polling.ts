// A follower that polls for events as JSON, each time after its last event.
import type { JobEvent } from '../../../generated/types.ts'
import type { Life } from '../life.ts'
import type { Recording } from './recording.ts'

const EVERY_MS = 180

export async function followByPolling(life: Life, job_id: string, recording: Recording): Promise<void> {
  while (!recording.ended && !life.over) {
    const path = `/api/jobs/${job_id}/events?after_sequence=${recording.last}`
    const answer = await life.request<JobEvent[]>('GET', path, { headers: { accept: 'application/json' } })
    if (!answer) return
    if (answer.status === 204) return
    if (answer.status !== 200) return life.complain(`the events of ${job_id} were answered with ${answer.status}`)
    for (const event of answer.body) recording.take(event)
    await life.pause(EVERY_MS)
  }
}
