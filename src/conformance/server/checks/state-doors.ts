// The doors to a job's state: what is not there, what each answers, and the list.
import { readJob } from '../jobs.ts'
import { listOf, mapOf, namesOf, same } from '../json.ts'
import { allRuns, completedRun } from '../runs.ts'
import { type Answer, shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings } from '../verdicts.ts'

export async function notFound(t: Trial): Promise<void> {
  const findings = new Findings()
  const answers: Answer[] = []
  for (const id of [
    'conformance-unknown',
    'job_00000000000000000000000000000000',
    '..x',
    'x%00y',
    'ünï',
    'x'.repeat(512),
  ]) {
    answers.push(await readJob(t, id))
    if (t.serves('requestJobCancellation'))
      answers.push(await t.call('requestJobCancellation', { values: { job_id: id } }))
  }
  for (const answer of answers) {
    const { code, error } = mapOf(answer.body)
    const right =
      answer.status === 404 && mapOf(error).type === 'job_not_found' && (code ?? 'JOB_NOT_FOUND') === 'JOB_NOT_FOUND'
    const alike = same(answer.body, answers[0]!.body)
    findings.see(right && alike, () => ({ finding: 'no job is not the same JOB_NOT_FOUND', ...shown(answer) }))
  }
  findings.settle('')
}

export async function doorsAgree(t: Trial): Promise<void> {
  const findings = new Findings()
  for (const { job_id, final } of await allRuns(t)) {
    const doors: [string, unknown][] = []
    if (t.serves('getJobSnapshot'))
      doors.push(['getJobSnapshot', (await t.call('getJobSnapshot', { values: { job_id } })).body])
    if (t.serves('getJob')) doors.push(['getJob', (await t.call('getJob', { values: { id: job_id } })).body])
    if (t.takes('get_job_snapshot')) {
      doors.push(['get_job_snapshot', (await (await t.socket()).ask('get_job_snapshot', { job_id })).result])
    }
    for (const [door, snapshot] of doors) {
      findings.see(same(snapshot, final), () => ({ finding: `${door} answers otherwise`, answer: { snapshot, final } }))
    }
  }
  findings.settle('')
}

export async function list(t: Trial): Promise<void> {
  t.needs('listJobs')
  const { job_id, workflow_id } = await completedRun(t)
  const query = `workflow_id=${encodeURIComponent(workflow_id)}`
  const all = listOf((await t.good('listJobs', 200, { query })).body)
  expect(namesOf(all, 'job_id').includes(job_id), 'a job is not in the list', { query }, all)
  const completed = listOf((await t.good('listJobs', 200, { query: `${query}&status=completed` })).body)
  const cancelled = listOf((await t.good('listJobs', 200, { query: `${query}&status=cancelled` })).body)
  const right = namesOf(completed, 'job_id').includes(job_id) && !namesOf(cancelled, 'job_id').includes(job_id)
  expect(right, 'the filter by status does not work', { query }, { completed, cancelled })
}
