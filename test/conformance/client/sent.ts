// What the reference server sent in a scenario, held against the contract.
import { frameValidators, schemaValidators, type Validate } from '../../../generated/validators-out.js'
import type { ScenarioId } from '../../../src/conformance/client/scenario.ts'
import type { ScenarioOutcome } from '../../../src/conformance/client/scenario-runner.ts'

type Fields = Record<string, unknown>

/** Scenarios that send what this version of the contract does not know, as a newer server may. */
export const NEWER: readonly ScenarioId[] = ['unknown-frame-ignored', 'unknown-event-type', 'second-answer-ignored']

const BODIES: Readonly<Record<string, Validate>> = {
  '/api/sdk/v1/capabilities': schemaValidators.Capabilities,
  '/api/sdk/v1/jobs': schemaValidators.SubmitJobResponse,
  '/api/sdk/v1/assets/temporary': schemaValidators.TemporaryAssetUpload,
}

function isDeclared(frame: Fields): boolean {
  return Object.values(frameValidators.ws).some((validate) => validate(frame))
}

/** Frames that are none of the contract's. */
export function frameProblems({ scenario, transcript }: ScenarioOutcome): string[] {
  const sent = transcript.filter(({ direction, where }) => direction === 'to_client' && where.startsWith('socket'))
  const frames = sent.map(({ content }) => content).filter((content) => content !== undefined) as Fields[]
  return frames
    .filter((frame) => !isDeclared(frame))
    .map((frame) => `${scenario}: ${JSON.stringify(frame).slice(0, 400)}`)
}

/** The answers to the requests of a transcript that one of the schemas describes. */
export function bodyProblems({ scenario, transcript }: ScenarioOutcome): string[] {
  return transcript.flatMap(({ direction, where, what }) => {
    const validate = direction === 'from_client' ? BODIES[what.split(' ')[1] ?? ''] : undefined
    if (!validate || !where.startsWith('http')) return []
    const answer = transcript.find((entry) => entry.where === where && entry.direction === 'to_client')
    if (!answer) return []
    const good = answer.what.startsWith('2') ? validate(answer.content) : schemaValidators.SdkError(answer.content)
    return good || answer.what.startsWith('401') ? [] : [`${scenario}: ${what}: ${JSON.stringify(answer.content)}`]
  })
}
