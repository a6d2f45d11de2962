// chat.Classify and chat.Extract: a model turns a text into a label or into fields.

import type { InputValues, OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeNeed, NodeProblem } from '../../engine/node-api/node-facts.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import type { ModelMessage } from '../../engine/node-api/services/models.ts'
import { conforms } from '../../engine/node-api/values/type-conformance.ts'
import { parseType } from '../../engine/node-api/values/type-metadata.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { abbreviate } from '../shared/value-limits.ts'
import { type JsonSchema, resolvePropertyHandles, spreadToHandles } from './answer-schema.ts'
import { labelsProblem, parseLabel } from './classify-labels.ts'
import { buildConversation } from './conversation.ts'
import { modelNeed, modelProblem, modelProperty, type SamplingInputs, samplingProperties } from './model-calls.ts'
import { repairsProperty } from './structured-node.ts'
import { InvalidAnswerError, parseJsonObject, requestStructuredOutput } from './structured-output.ts'

const MOST_FIELDS = 100

interface TextInputs extends SamplingInputs {
  text: string
  instructions: string
  repairs: number
}

interface ClassifyInputs extends TextInputs {
  labels: string[]
}

interface ExtractInputs extends TextInputs {
  fields: Record<string, unknown>
}

/** The schemas of the types that a field may have. */
const SCHEMAS_BY_FIELD_TYPE: Readonly<Record<string, JsonSchema>> = {
  str: { type: ['string', 'null'] },
  int: { type: ['integer', 'null'] },
  float: { type: ['number', 'null'] },
  bool: { type: ['boolean', 'null'] },
  'list[str]': { type: ['array', 'null'], items: { type: 'string' } },
  'list[int]': { type: ['array', 'null'], items: { type: 'integer' } },
  'list[float]': { type: ['array', 'null'], items: { type: 'number' } },
}

interface Field {
  readonly type: string
  readonly description: string | null
}

function classifyTask({ labels, instructions }: InputValues): string {
  const listed = (labels as string[]).map((label) => JSON.stringify(label)).join(', ')
  return appendInstructions(`Say which one of these labels fits the text of the user best: ${listed}.`, instructions)
}

function extractTask({ fields, instructions }: InputValues): string {
  const lines = Object.entries(fields as object).map(([name, field]) => {
    const { type, description } = parseField(field)!
    return `- ${name} (${type})${description === null ? '' : `: ${description}`}`
  })
  const task = 'Find these fields in the text of the user. What it does not say is null: make nothing up.'
  return appendInstructions(`${task}\n${lines.join('\n')}`, instructions)
}

function appendInstructions(task: string, instructions: unknown): string {
  return instructions === '' ? task : `${task}\n\n${instructions}`
}

/** The task as the system message, then the text as the user message. */
function buildMessages(task: string, text: unknown): ModelMessage[] {
  if (text === '') throw new NodeError('The text is empty.', 'bad_input')
  return buildConversation({ system: task, prompt: text, messages: [] })
}

async function runClassify(inputs: ClassifyInputs, context: NodeContext): Promise<OutputValues> {
  const { labels, text, repairs } = inputs
  const problem = labelsProblem(labels)
  if (problem !== null) throw new NodeError(problem, 'bad_input')
  const schema = objectSchema({ label: { type: 'string', enum: labels } })
  const read = (answer: string) => parseLabel(answer, labels)
  const messages = buildMessages(classifyTask(inputs), text)
  const { value, usage } = await requestStructuredOutput({ sampling: inputs, messages, schema, repairs, read }, context)
  return { label: value, usage }
}

async function runExtract(inputs: ExtractInputs, context: NodeContext): Promise<OutputValues> {
  const { fields, text, repairs } = inputs
  const problem = fieldsProblem(fields)
  if (problem !== null) throw new NodeError(problem, 'bad_input')
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldSchema(field)]))
  const names = resolvePropertyHandles(context, ['value', 'usage'], properties)
  const read = (answer: string) => parseFields(answer, fields)
  const messages = buildMessages(extractTask(inputs), text)
  const question = { sampling: inputs, messages, schema: objectSchema(properties), repairs, read }
  const { value, usage } = await requestStructuredOutput(question, context)
  return { ...spreadToHandles(value, names, context), value, usage }
}

/** All fields and nothing else. Missing fields are null. @throws InvalidAnswerError */
function parseFields(answer: string, fields: Record<string, unknown>): Record<string, unknown> {
  const given = parseJsonObject(answer)
  const found = Object.keys(fields).map((name): [string, unknown] => {
    const value = Object.hasOwn(given, name) ? given[name] : null
    const { type } = parseField(fields[name])!
    if (value !== null && !conforms(value, parseType(type)))
      throw new InvalidAnswerError(`"${abbreviate(name)}" must be ${type}, or null.`)
    return [name, value]
  })
  return Object.fromEntries(found)
}

function fieldSchema(field: unknown): JsonSchema {
  const { type, description } = parseField(field)!
  return { ...SCHEMAS_BY_FIELD_TYPE[type]!, ...(description === null ? {} : { description }) }
}

function parseField(field: unknown): Field | null {
  const { type, description = null } =
    typeof field === 'object' && field !== null ? (field as Partial<Field>) : { type: field as string }
  if (typeof type !== 'string' || !Object.hasOwn(SCHEMAS_BY_FIELD_TYPE, type)) return null
  return description === null || typeof description === 'string' ? { type, description } : null
}

function fieldsProblem(fields: unknown): string | null {
  const given = (fields ?? {}) as object
  const { length } = Object.keys(given)
  if (length === 0) return '`fields` needs at least one field.'
  if (length > MOST_FIELDS) return `\`fields\` has more than ${MOST_FIELDS} fields.`
  const wrong = Object.entries(given).find(([, field]) => parseField(field) === null)
  if (!wrong) return null
  return `The field "${abbreviate(wrong[0])}" must be one of ${Object.keys(SCHEMAS_BY_FIELD_TYPE).join(', ')}, or an object with such a type and a description.`
}

function objectSchema(properties: JsonSchema): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** The first problem with the labels, the fields or the model, as they stand in the node. */
function createProblemCheck(name: string, problemOf: (value: unknown) => string | null) {
  return (facts: NodeFacts): NodeProblem | null => {
    const own = facts.isConnected(name) ? null : facts.data[name]
    const message = own === null ? null : problemOf(own)
    return message === null ? modelProblem(facts) : { property: name, code: 'out_of_range', message }
  }
}

function createNeedsReader(
  name: string,
  problemOf: (value: unknown) => string | null,
  task: (data: InputValues) => string,
) {
  return (facts: NodeFacts): NodeNeed[] => {
    const known = !['text', 'instructions', name].some(facts.isConnected)
    // Invalid labels or fields may be millions, so no task is written for them.
    const valid = known && problemOf(facts.data[name]) === null
    return [modelNeed(facts, valid ? listPromptTexts(task, facts.data) : null)]
  }
}

function listPromptTexts(task: (data: InputValues) => string, data: InputValues): string[] | null {
  try {
    return buildMessages(task(data), data.text).map(({ content }) => String(content))
  } catch {
    // The firing will report the problem.
    return null
  }
}

const commonProperties = () => [
  optionalProperty('instructions', 'str', 'More instructions for the model.', { default: '' }),
  repairsProperty(),
  ...samplingProperties(),
]

export const classifyExtractNodes: NodeType[] = [
  {
    node_type: 'chat.Classify',
    title: 'Classify text',
    description:
      'Lets a model choose the label that fits a text best. If the answer is not one of the labels, the model is asked again; at last the node fails.',
    properties: [
      modelProperty(),
      requiredProperty('text', 'str', 'The text.'),
      requiredProperty(
        'labels',
        'list[str]',
        'The labels to choose from, between 2 and 200, each of at most 500 characters.',
      ),
      ...commonProperties(),
    ],
    outputs: [valueOutput('label', 'str'), valueOutput('usage', 'dict[str,any]')],
    gives_all: true,
    needs: createNeedsReader('labels', labelsProblem, classifyTask),
    problem: createProblemCheck('labels', labelsProblem),
    run: (inputs, context) => runClassify(inputs as ClassifyInputs, context),
  },
  {
    node_type: 'chat.Extract',
    title: 'Extract fields',
    description:
      'Lets a model find fields in a text. Gives an object with all fields, null for those that the text does not contain. Dynamic outputs are fields; a field that was not found gives no output.',
    properties: [
      modelProperty(),
      requiredProperty('text', 'str', 'The text.'),
      requiredProperty(
        'fields',
        'dict[str,any]',
        'The fields by name: each a type (str, int, float, bool, list[str], list[int] or list[float]), or an object with a type and a description.',
      ),
      ...commonProperties(),
    ],
    outputs: [valueOutput('value', 'dict[str,any]'), valueOutput('usage', 'dict[str,any]')],
    supports_dynamic_outputs: true,
    needs: createNeedsReader('fields', fieldsProblem, extractTask),
    problem: createProblemCheck('fields', fieldsProblem),
    run: (inputs, context) => runExtract(inputs as ExtractInputs, context),
  },
]
