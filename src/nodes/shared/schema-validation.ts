// JSON schemas in a workflow: checks that a schema can be used, and validates values by it.

import { NodeError } from '../../engine/node-api/node-error.ts'
import type { BackgroundExpressionReader } from '../../engine/node-api/node-facts.ts'
import {
  findSchemaProblem,
  isKnownUsableSchema,
  SchemaValidator,
  type SchemaVerdict,
} from '../../sandbox/schema-validator.ts'
import { truncateText } from '../../shared/text-truncation.ts'
import type { JsonSchema } from '../chat/answer-schema.ts'
import { createLazyGetter } from './lazy-libraries.ts'

/** In characters. A reason may quote the schema. */
const LONGEST_REASON = 500

const schemas = createLazyGetter(() => new SchemaValidator())

function unusableSchemaMessage(why: string): string {
  return `The schema cannot be used: ${truncateText(why, LONGEST_REASON)}.`
}

/** Checks what is quick to check. @throws NodeError `bad_schema` if the schema cannot be used */
export function checkSchemaQuickly(schema: JsonSchema): void {
  const why = findSchemaProblem(schema)
  if (why !== null) throw new NodeError(unusableSchemaMessage(why), 'bad_schema')
}

/** The reader for the part that `checkSchemaQuickly` does not check: it compiles the schema in a worker. */
export function backgroundSchemaReader(schema: JsonSchema): BackgroundExpressionReader | null {
  if (isKnownUsableSchema(schema)) return null
  return async ({ owner, signal }) => {
    const verdict = await schemas().validateSchema(schema, owner, signal)
    return verdict.kind === 'unusable' ? unusableSchemaMessage(verdict.why) : null
  }
}

/** Compiles the schema in a worker. @throws NodeError `bad_schema` if the schema cannot be used */
export async function guardSchema(schema: JsonSchema, owner: string): Promise<void> {
  const verdict = await schemas().validateSchema(schema, owner)
  if (verdict.kind === 'unusable') throw new NodeError(unusableSchemaMessage(verdict.why), 'bad_schema')
  if (verdict.kind === 'costly') throw new NodeError('The schema takes too long to compile. Simplify it.', 'bad_schema')
}

/** Validates a value in a worker. The verdict is never `unusable` for a schema that passed `guardSchema`. */
export function validateBySchema(schema: JsonSchema, value: unknown, owner: string): Promise<SchemaVerdict> {
  return schemas().validateValue(schema, value, { owner })
}
