// prompt.Template: a conversation for a model, made of templates. Their rules are in prompt-template.ts.
import { NodeError } from '../engine/node-error.ts'
import type { Inputs, NodeFacts, NodeProblem, NodeType, UnknownName } from '../engine/node-type.ts'
import { costOfSections } from './costs.ts'
import { option, output } from './define.ts'
import { namesIn, type Piece, piecesOf, written } from './prompt-template.ts'
import { pathParts } from './values.ts'

interface TemplateInputs extends Inputs {
  system: string
  template: string
  messages: Record<string, unknown>[]
}

function fill({ system, template, messages, ...inputs }: TemplateInputs) {
  const [told, prompt] = [written(piecesOf(system), inputs), written(piecesOf(template), inputs)]
  const first = told === '' ? [] : [{ role: 'system', content: told }]
  const last = prompt === '' ? [] : [{ role: 'user', content: prompt }]
  return { messages: [...first, ...messages, ...last], prompt, system: told }
}

const TEMPLATES = ['system', 'template'] as const

/** A template that is no template: its tags do not fit each other. */
function problem({ data, isConnected }: NodeFacts): NodeProblem | null {
  for (const property of TEMPLATES) {
    const pieces = isConnected(property) ? [] : read(data[property])
    if (pieces instanceof NodeError) return { property, code: 'invalid_expression', message: pieces.message }
  }
  const [system, template] = TEMPLATES.map((name) => !isConnected(name) && data[name] === '')
  if (!system || !template || isConnected('messages')) return null
  return { property: 'template', code: 'missing_property', message: 'There is no template to fill.' }
}

function read(template: unknown): readonly Piece[] | NodeError {
  try {
    return piecesOf(String(template))
  } catch (error) {
    if (error instanceof NodeError) return error
    throw error
  }
}

function unknownName(data: Readonly<Inputs>, inputs: ReadonlyMap<string, unknown>): UnknownName | null {
  for (const property of TEMPLATES) {
    const pieces = typeof data[property] === 'string' ? read(data[property]) : []
    if (pieces instanceof NodeError) continue
    for (const name of namesIn(pieces)) if (!inputs.has(name) && !inputs.has(firstOf(name))) return { property, name }
  }
  return null
}

/** The input that a path begins with; the whole path where it can't be read, which the firing will tell. */
function firstOf(path: string): string {
  try {
    return pathParts(path)[0] ?? ''
  } catch {
    return path
  }
}

export const promptNodes: NodeType[] = [
  {
    node_type: 'prompt.Template',
    title: 'Prompt template',
    description:
      'Makes the messages of a conversation. `{{name}}` and `{{name.key[0]}}` are dynamic inputs; `{{#name}}…{{/name}}` stands only where there is something, once for each item of a list, which is `{{.}}` and `{{.key}}`; `{{^name}}…{{/name}}` where there is nothing.',
    properties: [
      option('system', 'str', 'The template of what the model is told before the conversation.', { default: '' }),
      option('template', 'str', 'The template of what the user says last.', { default: '' }),
      option(
        'messages',
        'list[dict[str,any]]',
        'Messages in between, as they are: what was said before, or examples of how to answer.',
        { default: [] },
      ),
    ],
    cost: costOfSections,
    outputs: [output('messages', 'list[dict[str,any]]'), output('prompt', 'str'), output('system', 'str')],
    gives_all: true,
    supports_dynamic_inputs: true,
    optional_dynamic_inputs: true,
    unknownName,
    problem,
    run: (inputs) => fill(inputs as TemplateInputs),
  },
]
