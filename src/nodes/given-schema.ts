// JSON schemas that workflows bring: what is wrong with them is told before anything runs, and by the firings that need them.
import { NodeError, type ReadApart } from '../engine/node-type.ts'
import { isKnownUsable, Schemas, unusableAtSight, type Verdict } from '../sandbox/schemas.ts'
import { cut } from '../short.ts'
import type { Schema } from './chat-schema.ts'
import { lazily } from './libraries.ts'

/** How much is told of why a schema cannot be used, in characters: it may have parts of the schema in it. */
const SHOWN_WHY = 500

const schemas = lazily(() => new Schemas())

function unusable(why: string): string {
  return `The schema cannot be used: ${cut(why, SHOWN_WHY)}.`
}

/** @throws NodeError `bad_schema` where it shows without a thread that a schema can judge nothing */
export function readSchema(schema: Schema): void {
  const why = unusableAtSight(schema)
  if (why !== null) throw new NodeError(unusable(why), 'bad_schema')
}

/** What is left to be found of a schema that `readSchema` took. */
export function unreadSchema(schema: Schema): ReadApart | null {
  if (isKnownUsable(schema)) return null
  return async ({ owner }) => {
    const verdict = await schemas().judge(schema, owner)
    return verdict.kind === 'unusable' ? unusable(verdict.why) : null
  }
}

/** @throws NodeError `bad_schema` where a schema can judge nothing */
export async function guardSchema(schema: Schema, owner: string): Promise<void> {
  const verdict = await schemas().judge(schema, owner)
  if (verdict.kind === 'unusable') throw new NodeError(unusable(verdict.why), 'bad_schema')
  if (verdict.kind === 'costly') throw new NodeError('The schema needs too much work.', 'bad_schema')
}

/** Never `unusable` where `guardSchema` took the schema. */
export function judgedBy(schema: Schema, value: unknown, owner: string): Promise<Verdict> {
  return schemas().check(schema, value, { owner })
}
