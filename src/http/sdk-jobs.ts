// Operations of the tag `sdk` that are about jobs: the preview. Submissions are decided in the lifecycle room, the rest by the jobs' own service.
import type { SdkHandlers } from '../../generated/operations.ts'
import type { JobSnapshot } from '../../generated/types.ts'
import { jobText } from '../jobs/reads.ts'
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
    return jsonText<JobSnapshot, 200>(200, jobText(app.jobs, await app.jobs.get(principal, path.job_id)))
  },

  async requestJobCancellation({ path }, { app, principal }) {
    return { status: 200, body: cancellation(app.jobs, await app.jobs.cancel(principal, path.job_id)) }
  },
}
