// Operations of the tag `jobs`: a thin layer over the service, which is independent of transports.
import type { JobsHandlers } from '../../../generated/operations.ts'
import type { JobEvent, JobSnapshot } from '../../../generated/types.ts'
import type { AppContext } from '../../context.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { ServiceError } from '../../errors.ts'
import { checkReplayAfter } from '../../jobs/history/replay-availability.ts'
import { deleteJob, listJobs, readJobText } from '../../jobs/queries.ts'
import type { JobHandle } from '../../jobs/service.ts'
import { isTerminal } from '../../jobs/state-machine.ts'
import { createNextLink } from '../pipeline/pagination-links.ts'
import { createJsonTextReply } from '../pipeline/reply.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { awaitFirstChunk } from '../pipeline/text-stream.ts'
import { streamJobEventArray, streamJobEvents } from './job-event-stream.ts'

const EVENT_STREAM = 'text/event-stream'

export const jobsHandlers: JobsHandlers<RequestContext> = {
  async listJobs({ query }, { app, principal }) {
    const { text, next } = listJobs(app.runs, principal, query)
    return {
      ...createJsonTextReply<JobSnapshot[], 200>(200, await awaitFirstChunk(text)),
      headers: createNextLink('/api/jobs', query, next),
    }
  },

  async getJob({ path }, { app, principal }) {
    return createSnapshotReply(app, await app.runs.jobs.get(principal, path.id))
  },

  async deleteJob({ path }, { app, principal }) {
    await deleteJob(app.runs, principal, path.id)
    return { status: 204 }
  },

  async cancelJob({ path }, { app, principal }) {
    return createSnapshotReply(app, await app.runs.jobs.cancel(principal, path.id))
  },

  async resumeJob({ path, body }, { app, principal }) {
    const { node_id = null, name = null, value } = body
    return createSnapshotReply(
      app,
      await app.runs.jobs.resume(principal, path.id, { node_id, name, value, at: '/body' }),
    )
  },

  async retryJob({ path }, { app, principal }) {
    const handle = await app.runs.jobs.retry(principal, path.id)
    const headers = { Location: `/api/jobs/${handle.row.id}` }
    return { ...createJsonTextReply<JobSnapshot, 202>(202, await readJobText(app.runs.jobs, handle)), headers }
  },

  async followJobEvents({ path, query, headers }, context) {
    const { app, principal } = context
    const type = context.accepts([EVENT_STREAM, 'application/json'])
    if (type === null) throw new ServiceError('NOT_ACCEPTABLE')
    const after = headers['last-event-id'] ?? query.after_sequence ?? 0
    const { job, key, last_sequence, ended } = await loadFollowedJob(app, principal, path.id, after)
    const cancelled = AbortSignal.any([context.signal, context.revoked, app.lifetime.stopping])
    const items = app.runs.events.follow(key, after, cancelled)
    const negotiated = { Vary: 'Accept' }
    const reader = () => context.reader
    const turns = app.schedulers.reading.turnsOf(userShareKey(principal))
    if (type !== EVENT_STREAM) {
      const text = await awaitFirstChunk(streamJobEventArray(job, items, { after, last: last_sequence, reader, turns }))
      return { ...createJsonTextReply<JobEvent[], 200>(200, text), headers: negotiated }
    }
    if (ended && after === last_sequence) return { status: 204, headers: negotiated }
    // Proxies that buffer responses would delay the events.
    const { half_closed } = context
    const unbuffered = { ...negotiated, 'X-Accel-Buffering': 'no' }
    return {
      status: 200,
      content_type: EVENT_STREAM,
      body: streamJobEvents(job, items, after, { half_closed, reader, turns }),
      headers: unbuffered,
    }
  },
}

/** The fields of a job that a follower needs. The row itself may hold a large result, and a client may follow for long. */
async function loadFollowedJob(app: AppContext, principal: OwnerScope, job_id: string, after: number) {
  const { row } = await app.runs.jobs.get(principal, job_id)
  if (checkReplayAfter(app.store, row, after) === 'expired') throw new ServiceError('REPLAY_EXPIRED')
  const { key, id, workflow_id, workspace_id, last_sequence, status } = row
  return { job: { id, workflow_id, workspace_id }, key, last_sequence, ended: isTerminal(status) }
}

async function createSnapshotReply(app: AppContext, handle: JobHandle) {
  return createJsonTextReply<JobSnapshot, 200>(200, await readJobText(app.runs.jobs, handle))
}
