// Results: manifests, outputs, provenance and times.

import { ended, start, workflow } from '../jobs.ts'
import { listOf, mapOf, same } from '../json.ts'
import { allRuns, completedRun } from '../runs.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings } from '../verdicts.ts'
import type { ChecksOf } from './check.ts'
import { byReference, references } from './media.ts'

export const resultChecks: ChecksOf<'results'> = {
  'server.results.manifest': async (t) => {
    const { final, job_id } = await completedRun(t)
    const { job_id: named, outputs, assets } = mapOf(final.result)
    expect(named === job_id, 'the manifest names another job', { job_id }, final.result)
    for (const { output_name, path } of listOf(assets).map(mapOf)) {
      let place: unknown = mapOf(outputs)[String(output_name)]
      for (const step of listOf(path)) place = (place as Record<string, unknown> | null)?.[String(step)]
      expect(place !== undefined, 'an asset belongs nowhere in the outputs', { output_name, path }, final.result)
    }
  },
  'server.results.outputs': async (t) => {
    const { final } = await completedRun(t)
    const wanted = { answer: 'forty-two', name: 'Ada' }
    expect(
      same(mapOf(final.result).outputs, wanted),
      'the outputs are not what the graph gives',
      { wanted },
      final.result,
    )
    const greeting = await greetingResult(t)
    const said = { greeting: 'Hello, Ada', name: 'Ada' }
    expect(same(mapOf(greeting.result).outputs, said), 'the outputs are not what the graph gives', { said }, greeting)
  },
  'server.results.provenance': async (t) => {
    const { final, workflow_id, etag, inputs } = await completedRun(t)
    const { provenance } = mapOf(final.result)
    const told = mapOf(provenance)
    const right = told.workflow_id === workflow_id && told.workflow_revision === etag && same(told.inputs, inputs)
    expect(right, 'provenance is of another workflow, graph or inputs', { workflow_id, etag, inputs }, provenance)
  },
  'server.results.times': async (t) => {
    const findings = new Findings()
    for (const { final } of await allRuns(t)) {
      const { created_at, started_at, finished_at, updated_at, result } = final
      const completed_at = mapOf(result).completed_at ?? null
      const line = [created_at, started_at, completed_at, finished_at].filter((time) => time !== null).map(instant)
      const right =
        line.every((time, at) => at === 0 || time >= line[at - 1]!) && instant(updated_at) >= instant(created_at)
      findings.see(right, () => ({ finding: 'times are not in order', answer: final }))
    }
    findings.settle('')
  },
  'server.results.large-media': byReference,
  'server.results.asset-references': references,
  'server.results.cost': async (t) => {
    const findings = new Findings()
    for (const { final } of await allRuns(t)) {
      if (final.result === null) continue
      const { cost, provenance } = mapOf(final.result)
      const { models, providers } = mapOf(provenance)
      const called = listOf(models).length + listOf(providers).length > 0
      findings.see(cost === null || called, () => ({ finding: 'a run that called nobody has a cost', answer: final }))
    }
    findings.settle('no run has completed')
  },
}

function instant(time: unknown): number {
  return Date.parse(String(time))
}

function greetingResult(t: Trial) {
  return t.once('greeting result', async () => {
    return ended(t, await start(t, await workflow(t, 'greeting'), { name: 'Ada' }))
  })
}
