// The job commands of the lifecycle profile, which are the preview. They use the same services as HTTP.
import type { WsCommandHandlers } from '../../../generated/messages.ts'
import { checkReplayAfter } from '../../jobs/history/replay-availability.ts'
import { readJobSnapshot } from '../../jobs/queries.ts'
import { describeCancellation, submitJob } from '../../lifecycle/submissions.ts'
import type { CommandConnection } from './command-connection.ts'

type LifecycleJobCommands = Pick<
  WsCommandHandlers<CommandConnection>,
  'submit_job' | 'get_job_snapshot' | 'subscribe_job' | 'request_job_cancellation'
>

export const lifecycleJobCommandHandlers: LifecycleJobCommands = {
  submit_job: (data, { app, principal, closed }, late) =>
    submitJob(app.runs, principal, data, { at: '/data', signal: AbortSignal.any([closed, late]) }),

  async get_job_snapshot({ job_id }, { app, principal, reader }) {
    return readJobSnapshot(app.runs, await app.runs.jobs.get(principal, job_id), reader)
  },

  async subscribe_job({ job_id, after_sequence }, { app, principal, subscriptions, reader }) {
    const handle = await app.runs.jobs.get(principal, job_id)
    const { key, id, workflow_id, workspace_id, last_sequence } = handle.row
    const after = after_sequence ?? 0
    const expired = checkReplayAfter(app.store, handle.row, after) === 'expired'
    const reply = {
      job_id,
      requested_after_sequence: after,
      replay_from_sequence: expired || after === last_sequence ? null : after + 1,
      replay_to_sequence: last_sequence,
      snapshot: await readJobSnapshot(app.runs, handle, reader),
    }
    // If the history is incomplete, the snapshot replaces it.
    subscriptions.prepare(reply, { key, id, workflow_id, workspace_id }, expired ? last_sequence : after)
    return reply
  },

  async request_job_cancellation({ job_id }, { app, principal }) {
    return describeCancellation(app.runs, await app.runs.jobs.cancel(principal, job_id))
  },
}
