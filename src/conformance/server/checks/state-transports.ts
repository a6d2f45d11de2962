// Checks of the operations that return a job's state: missing jobs, equal answers, and the list.

import { CheckFindings, expect } from '../check-outcomes.ts'
import { readJob } from '../job-actions.ts'
import { isSameJson, listOf, mapOf, pluckTexts } from '../json.ts'
import { observeAllRuns, observeCompletedRun } from '../observed-runs.ts'
import type { SuiteContext } from '../suite-context.ts'
import { type SuiteAnswer, toEvidenceParts } from '../target-server.ts'

export async function checkJobNotFound(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  const answers: SuiteAnswer[] = []
  for (const id of [
    'conformance-unknown',
    'job_00000000000000000000000000000000',
    '..x',
    'x%00y',
    'ünï',
    'x'.repeat(512),
  ]) {
    answers.push(await readJob(t, id))
    if (t.hasOperation('requestJobCancellation'))
      answers.push(await t.call('requestJobCancellation', { values: { job_id: id } }))
  }
  for (const answer of answers) {
    const { code, error } = mapOf(answer.body)
    const right =
      answer.status === 404 && mapOf(error).type === 'job_not_found' && (code ?? 'JOB_NOT_FOUND') === 'JOB_NOT_FOUND'
    const alike = isSameJson(answer.body, answers[0]!.body)
    findings.addCase(right && alike, () => ({
      finding: 'a missing job is not answered with the same JOB_NOT_FOUND',
      ...toEvidenceParts(answer),
    }))
  }
  findings.throwIfBroken('')
}

export async function checkTransportsAgree(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  for (const { job_id, final } of await observeAllRuns(t)) {
    const doors: [string, unknown][] = []
    if (t.hasOperation('getJobSnapshot'))
      doors.push(['getJobSnapshot', (await t.call('getJobSnapshot', { values: { job_id } })).body])
    if (t.hasOperation('getJob')) doors.push(['getJob', (await t.call('getJob', { values: { id: job_id } })).body])
    if (t.hasCommand('get_job_snapshot')) {
      doors.push(['get_job_snapshot', (await (await t.openSocket()).request('get_job_snapshot', { job_id })).result])
    }
    for (const [door, snapshot] of doors) {
      findings.addCase(isSameJson(snapshot, final), () => ({
        finding: `${door} answers differently`,
        answer: { snapshot, final },
      }))
    }
  }
  findings.throwIfBroken('')
}

export async function checkJobList(t: SuiteContext): Promise<void> {
  t.requireOperations('listJobs')
  const { job_id, workflow_id } = await observeCompletedRun(t)
  const query = `workflow_id=${encodeURIComponent(workflow_id)}`
  const all = listOf((await t.callExpecting('listJobs', 200, { query })).body)
  expect(pluckTexts(all, 'job_id').includes(job_id), 'a job is not in the list', { query }, all)
  const completed = listOf((await t.callExpecting('listJobs', 200, { query: `${query}&status=completed` })).body)
  const cancelled = listOf((await t.callExpecting('listJobs', 200, { query: `${query}&status=cancelled` })).body)
  const right = pluckTexts(completed, 'job_id').includes(job_id) && !pluckTexts(cancelled, 'job_id').includes(job_id)
  expect(right, 'the filter by status does not work', { query }, { completed, cancelled })
}
