// JSON schemas in a workflow: checks that a schema can be used, and validates values by it.
import { type BackgroundReader, NodeError } from '../engine/node-type.ts'
import { isKnownUsable, Schemas, unusableAtSight, type Verdict } from '../sandbox/schemas.ts'
import { cut } from '../short.ts'
import type { Schema } from './chat-schema.ts'
import { lazily } from './libraries.ts'

/** In characters. A reason may quote the schema. */
const LONGEST_REASON = 500

const schemas = lazily(() => new Schemas())

function unusable(why: string): string {
  return `The schema cannot be used: ${cut(why, LONGEST_REASON)}.`
}

/** Checks what is quick to check. @throws NodeError `bad_schema` if the schema cannot be used */
export function readSchema(schema: Schema): void {
  const why = unusableAtSight(schema)
  if (why !== null) throw new NodeError(unusable(why), 'bad_schema')
}

/** The reader for what `readSchema` does not check: it compiles the schema in a thread. */
export function backgroundSchemaReader(schema: Schema): BackgroundReader | null {
  if (isKnownUsable(schema)) return null
  return async ({ owner, signal }) => {
    const verdict = await schemas().judge(schema, owner, signal)
    return verdict.kind === 'unusable' ? unusable(verdict.why) : null
  }
}

/** Compiles the schema in a thread. @throws NodeError `bad_schema` if the schema cannot be used */
export async function guardSchema(schema: Schema, owner: string): Promise<void> {
  const verdict = await schemas().judge(schema, owner)
  if (verdict.kind === 'unusable') throw new NodeError(unusable(verdict.why), 'bad_schema')
  if (verdict.kind === 'costly') throw new NodeError('The schema needs too much work.', 'bad_schema')
}

/** Validates a value in a thread. The verdict is never `unusable` for a schema that passed `guardSchema`. */
export function validateBySchema(schema: Schema, value: unknown, owner: string): Promise<Verdict> {
  return schemas().check(schema, value, { owner })
}
