// What `svc run` shows: without the secrets of the environment, as on a server. A server of models, or another one, may repeat them.
import type { Plan } from '../../engine/compile/compiler.ts'
import { Redactor } from '../../redaction/redactor.ts'
import { RedactedItems } from '../../redaction/streams/redacted-items.ts'

/** There is one user, who owns all secrets of the environment. */
const OWNER = 'operator'

export function createTerminalRedactor(secrets: readonly string[]): Redactor {
  const redactor = new Redactor()
  for (const secret of secrets) redactor.add(secret, OWNER)
  return redactor.forOwner(OWNER)
}

/** Redacts the values of outputs in their order. A secret may span several texts of a stream, so texts may be held back. */
export class RedactedOutputs {
  readonly #redactor: Redactor
  readonly #streams: ReadonlyMap<string, RedactedItems>

  constructor(plan: Pick<Plan, 'outputs'>, redactor: Redactor) {
    this.#redactor = redactor
    this.#streams = new Map(
      plan.outputs.flatMap(({ name, stream }) => (stream ? [[name, new RedactedItems(redactor)]] : [])),
    )
  }

  /** Adds a value of an output, and returns the values that may be shown now. */
  add(output_name: string, value: unknown): unknown[] {
    const texts = this.#streams.get(output_name)
    if (texts && typeof value === 'string') return texts.push(value)
    return [...(texts?.end() ?? []), this.#redactor.value(value)]
  }

  /** Returns the values that are held back. `whole`: the stream ended, and was not cut off. */
  end(output_name: string, whole: boolean): unknown[] {
    const texts = this.#streams.get(output_name)
    return (whole ? texts?.end() : texts?.cut()) ?? []
  }
}

/** The values of all outputs of a completed run. */
export function redactOutputLists(
  plan: Pick<Plan, 'outputs'>,
  redactor: Redactor,
  lists: Readonly<Record<string, readonly unknown[]>>,
): Record<string, unknown[]> {
  const outputs = new RedactedOutputs(plan, redactor)
  const redacted = Object.entries(lists).map(([name, values]) => [
    name,
    [...values.flatMap((value) => outputs.add(name, value)), ...outputs.end(name, true)],
  ])
  return Object.fromEntries(redacted) as Record<string, unknown[]>
}
