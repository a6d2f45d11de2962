// chat.Structured: an answer as data that satisfies a JSON schema. Its properties can be outputs.

import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import {
  backgroundSchemaReader,
  checkSchemaQuickly,
  guardSchema,
  validateBySchema,
} from '../shared/schema-validation.ts'
import {
  isJsonSchema,
  type JsonSchema,
  readSchemaProperties,
  resolvePropertyHandles,
  spreadToHandles,
} from './answer-schema.ts'
import { conversationProperties, listConversationNeeds } from './complete-node.ts'
import { buildConversation, conversationProblem } from './conversation.ts'
import { inlineImages } from './image-inlining.ts'
import { modelProblem, modelProperty, type SamplingInputs, samplingProperties } from './model-calls.ts'
import { InvalidAnswerError, parseJsonObject, requestStructuredOutput } from './structured-output.ts'

const OWN_OUTPUTS = ['value', 'usage']

/** The most faults of an answer that are sent to the model at once. */
const MOST_REPORTED_FAULTS = 10

interface StructuredInputs extends SamplingInputs {
  schema: JsonSchema
  repairs: number
}

export const repairsProperty = () =>
  optionalProperty(
    'repairs',
    'int',
    'How often the model is asked again, with the faults of its answer, if the answer is invalid.',
    {
      default: 1,
      min: 0,
      max: 10,
    },
  )

async function runStructured(inputs: StructuredInputs, context: NodeContext): Promise<OutputValues> {
  const { schema, repairs } = inputs
  const { owner } = context.services
  // The schema is checked before a paid call.
  guardObjectSchema(schema)
  await guardSchema(schema, owner)
  const names = resolvePropertyHandles(context, OWN_OUTPUTS, readSchemaProperties(schema))
  const messages = await inlineImages(buildConversation(inputs), inputs, context)
  const question = {
    sampling: inputs,
    messages,
    schema,
    repairs,
    read: (text: string) => parseValidAnswer(schema, text, owner),
  }
  const { value, usage } = await requestStructuredOutput(question, context)
  return { ...spreadToHandles(value, names, context), value, usage }
}

/** @throws NodeError `bad_schema` if the schema is not that of an object */
function guardObjectSchema(schema: unknown): void {
  if (
    isJsonSchema(schema) &&
    (schema.type === 'object' || (schema.type === undefined && isJsonSchema(schema.properties)))
  )
    return
  throw new NodeError('The schema must describe an object. Set its type to "object".', 'bad_schema')
}

function readObjectSchema(schema: JsonSchema): void {
  guardObjectSchema(schema)
  checkSchemaQuickly(schema)
}

async function parseValidAnswer(schema: JsonSchema, text: string, owner: string): Promise<Record<string, unknown>> {
  const value = parseJsonObject(text)
  const verdict = await validateBySchema(schema, value, owner)
  if (verdict.kind === 'fits') return value
  if (verdict.kind !== 'unfit')
    throw new NodeError('Checking this answer against the schema takes too long. Simplify the schema.', 'bad_schema')
  const faults = verdict.problems.slice(0, MOST_REPORTED_FAULTS)
  throw new InvalidAnswerError(
    faults.map(({ path, message }) => `${path === '' ? 'The object' : path} ${message}.`).join(' '),
  )
}

export const structuredNodes: NodeType[] = [
  {
    node_type: 'chat.Structured',
    title: 'Structured answer',
    description:
      'Lets a model answer with an object that satisfies a JSON schema (2020-12). Dynamic outputs are properties of the object; a missing property gives no output. If the answer is invalid, the model is asked again; at last the node fails.',
    properties: [
      modelProperty(),
      requiredProperty('schema', 'dict[str,any]', 'The JSON schema of the object.'),
      ...conversationProperties(),
      repairsProperty(),
      ...samplingProperties(),
    ],
    outputs: [valueOutput('value', 'dict[str,any]'), valueOutput('usage', 'dict[str,any]')],
    supports_dynamic_outputs: true,
    needs: listConversationNeeds,
    expressions: { schema: readObjectSchema },
    slowExpressions: { schema: backgroundSchemaReader },
    problem: (facts) => modelProblem(facts) ?? conversationProblem(facts),
    run: (inputs, context) => runStructured(inputs as StructuredInputs, context),
  },
]
