// Operations of the tag `sdk` that are about jobs: the preview. Submissions are decided in the lifecycle room, the rest by the jobs' own service.
import type { SdkHandlers } from '../../generated/operations.ts'
import type { CancelJobResponse, JobSnapshot } from '../../generated/types.ts'
import { jobText } from '../jobs/reads.ts'
import { jsonWith } from '../json.ts'
import { cancellation, submitJob } from '../lifecycle/submissions.ts'
import { jsonText } from './reply.ts'
import type { RequestContext } from './request.ts'

type Jobs = Pick<SdkHandlers<RequestContext>, 'submitJob' | 'getJobSnapshot' | 'requestJobCancellation'>

export const sdkJobs: Jobs = {
  async submitJob({ body }, { app, principal, signal }) {
    const answer = await submitJob(app, principal, body, { at: '/body', signal })
    const headers = { Location: `/api/sdk/v1/jobs/${encodeURIComponent(answer.job_id)}` }
    return { status: 202, body: answer, headers }
  },

  async getJobSnapshot({ path }, { app, principal }) {
    return jsonText<JobSnapshot, 200>(200, await jobText(app.jobs, await app.jobs.get(principal, path.job_id)))
  },

  async requestJobCancellation({ path }, { app, principal }) {
    const handle = await app.jobs.cancel(principal, path.job_id)
    // Its result, which may be large, goes out as it is stored.
    const { snapshot: _, ...rest } = await cancellation(app, { ...handle, row: { ...handle.row, result: null } })
    return jsonText<CancelJobResponse, 200>(200, jsonWith(rest, 'snapshot', await jobText(app.jobs, handle)))
  },
}
