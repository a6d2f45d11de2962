// Operations of the tag `sdk` for jobs, which are the preview. src/lifecycle decides about submissions, the service of jobs the rest.
import type { SdkHandlers } from '../../../../generated/operations.ts'
import type { CancelJobResponse, JobSnapshot } from '../../../../generated/types.ts'
import { readJobText } from '../../../jobs/queries.ts'
import { describeCancellation, submitJob } from '../../../lifecycle/submissions.ts'
import { appendJsonMember } from '../../../shared/json.ts'
import { createJsonTextReply } from '../../pipeline/reply.ts'
import type { RequestContext } from '../../pipeline/request-context.ts'

type SdkJobsHandlers = Pick<SdkHandlers<RequestContext>, 'submitJob' | 'getJobSnapshot' | 'requestJobCancellation'>

export const sdkJobsHandlers: SdkJobsHandlers = {
  async submitJob({ body }, { app, principal, signal }) {
    const answer = await submitJob(app.runs, principal, body, { at: '/body', signal })
    const headers = { Location: `/api/sdk/v1/jobs/${encodeURIComponent(answer.job_id)}` }
    return { status: 202, body: answer, headers }
  },

  async getJobSnapshot({ path }, { app, principal }) {
    return createJsonTextReply<JobSnapshot, 200>(
      200,
      await readJobText(app.runs.jobs, await app.runs.jobs.get(principal, path.job_id)),
    )
  },

  async requestJobCancellation({ path }, { app, principal }) {
    const handle = await app.runs.jobs.cancel(principal, path.job_id)
    // The result, which may be large, is sent as it is stored.
    const { snapshot: _, ...rest } = await describeCancellation(app.runs, {
      ...handle,
      row: { ...handle.row, result: null },
    })
    return createJsonTextReply<CancelJobResponse, 200>(
      200,
      appendJsonMember(rest, 'snapshot', await readJobText(app.runs.jobs, handle)),
    )
  },
}
