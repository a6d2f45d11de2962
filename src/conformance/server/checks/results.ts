// Checks of results: manifests, outputs, provenance and times.

import { CheckFindings, expect } from '../check-outcomes.ts'
import { startJob, storeSampleWorkflow, waitForJobEnd } from '../job-actions.ts'
import { isSameJson, listOf, mapOf } from '../json.ts'
import { observeAllRuns, observeCompletedRun } from '../observed-runs.ts'
import type { SuiteContext } from '../suite-context.ts'
import type { AreaChecks } from './check-types.ts'
import { checkMediaByReference, checkMediaReferences } from './large-media.ts'

export const resultChecks: AreaChecks<'results'> = {
  'server.results.manifest': async (t) => {
    const { final, job_id } = await observeCompletedRun(t)
    const { job_id: named, outputs, assets } = mapOf(final.result)
    expect(named === job_id, 'the manifest names another job', { job_id }, final.result)
    for (const { output_name, path } of listOf(assets).map(mapOf)) {
      let place: unknown = mapOf(outputs)[String(output_name)]
      for (const step of listOf(path)) place = (place as Record<string, unknown> | null)?.[String(step)]
      expect(place !== undefined, 'an asset has no position in the outputs', { output_name, path }, final.result)
    }
  },
  'server.results.outputs': async (t) => {
    const { final } = await observeCompletedRun(t)
    const wanted = { answer: 'forty-two', name: 'Ada' }
    expect(
      isSameJson(mapOf(final.result).outputs, wanted),
      'the outputs differ from those of the graph',
      { wanted },
      final.result,
    )
    const greeting = await runGreeting(t)
    const said = { greeting: 'Hello, Ada', name: 'Ada' }
    expect(
      isSameJson(mapOf(greeting.result).outputs, said),
      'the outputs differ from those of the graph',
      { said },
      greeting,
    )
  },
  'server.results.provenance': async (t) => {
    const { final, workflow_id, etag, inputs } = await observeCompletedRun(t)
    const { provenance } = mapOf(final.result)
    const told = mapOf(provenance)
    const right = told.workflow_id === workflow_id && told.workflow_revision === etag && isSameJson(told.inputs, inputs)
    expect(right, 'provenance names another workflow, graph or inputs', { workflow_id, etag, inputs }, provenance)
  },
  'server.results.times': async (t) => {
    const findings = new CheckFindings()
    for (const { final } of await observeAllRuns(t)) {
      const { created_at, started_at, finished_at, updated_at, result } = final
      const completed_at = mapOf(result).completed_at ?? null
      const line = [created_at, started_at, completed_at, finished_at].filter((time) => time !== null).map(toInstant)
      const right =
        line.every((time, at) => at === 0 || time >= line[at - 1]!) && toInstant(updated_at) >= toInstant(created_at)
      findings.addCase(right, () => ({ finding: 'times are not in order', answer: final }))
    }
    findings.throwIfBroken('')
  },
  'server.results.large-media': checkMediaByReference,
  'server.results.asset-references': checkMediaReferences,
  'server.results.cost': async (t) => {
    const findings = new CheckFindings()
    for (const { final } of await observeAllRuns(t)) {
      if (final.result === null) continue
      const { cost, provenance } = mapOf(final.result)
      const { models, providers } = mapOf(provenance)
      const called = listOf(models).length + listOf(providers).length > 0
      findings.addCase(cost === null || called, () => ({
        finding: 'a run without calls has a cost',
        answer: final,
      }))
    }
    findings.throwIfBroken('no run has completed')
  },
}

function toInstant(time: unknown): number {
  return Date.parse(String(time))
}

function runGreeting(t: SuiteContext) {
  return t.memoize('greeting result', async () => {
    return waitForJobEnd(t, await startJob(t, await storeSampleWorkflow(t, 'greeting'), { name: 'Ada' }))
  })
}
