// prompt.Template: builds the conversation for a model from templates, by the rules of prompt-template.ts.

import type { InputValues } from '../engine/node-api/firing-forms.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeFacts, NodeProblem, UnknownName } from '../engine/node-api/node-facts.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { collectInputNames, parsePromptTemplate, renderPromptTemplate, type TemplatePiece } from './prompt-template.ts'
import { costOfSections } from './shared/firing-costs.ts'
import { optionalProperty, valueOutput } from './shared/node-type-builders.ts'
import { LONGEST_CHECKED_TEMPLATE } from './shared/value-limits.ts'
import { parsePathTexts } from './shared/value-operations.ts'

interface TemplateInputs extends InputValues {
  system: string
  template: string
  messages: Record<string, unknown>[]
}

function renderMessages({ system, template, messages, ...inputs }: TemplateInputs) {
  const [systemText, prompt] = [
    renderPromptTemplate(parsePromptTemplate(system), inputs),
    renderPromptTemplate(parsePromptTemplate(template), inputs),
  ]
  const first = systemText === '' ? [] : [{ role: 'system', content: systemText }]
  const last = prompt === '' ? [] : [{ role: 'user', content: prompt }]
  return { messages: [...first, ...messages, ...last], prompt, system: systemText }
}

const TEMPLATE_PROPERTIES = ['system', 'template'] as const

/** Finds invalid templates, such as sections that are not closed. */
function findTemplateProblem({ data, isConnected }: NodeFacts): NodeProblem | null {
  for (const property of TEMPLATE_PROPERTIES) {
    const pieces = isConnected(property) ? [] : tryParseTemplate(data[property])
    if (pieces instanceof NodeError) return { property, code: 'invalid_expression', message: pieces.message }
  }
  const [system, template] = TEMPLATE_PROPERTIES.map((name) => !isConnected(name) && data[name] === '')
  if (!system || !template || isConnected('messages')) return null
  return {
    property: 'template',
    code: 'missing_property',
    message: 'There is nothing to render. Set system, template or messages.',
  }
}

function tryParseTemplate(template: unknown): readonly TemplatePiece[] | NodeError {
  try {
    return parsePromptTemplate(String(template))
  } catch (error) {
    if (error instanceof NodeError) return error
    throw error
  }
}

function findUnknownName(data: Readonly<InputValues>, inputs: ReadonlyMap<string, unknown>): UnknownName | null {
  for (const property of TEMPLATE_PROPERTIES) {
    const template = data[property]
    if (typeof template !== 'string' || template.length > LONGEST_CHECKED_TEMPLATE) continue
    const pieces = tryParseTemplate(template)
    if (pieces instanceof NodeError) continue
    for (const name of collectInputNames(pieces))
      if (!inputs.has(name) && !inputs.has(firstPathPart(name))) return { property, name }
  }
  return null
}

/** The input that a path begins with. An invalid path is returned whole, and the firing reports it. */
function firstPathPart(path: string): string {
  try {
    return parsePathTexts(path)[0] ?? ''
  } catch {
    return path
  }
}

export const promptNodes: NodeType[] = [
  {
    node_type: 'prompt.Template',
    title: 'Prompt template',
    description:
      'Makes the messages of a conversation. `{{name}}` and `{{name.key[0]}}` are dynamic inputs; `{{#name}}…{{/name}}` is rendered only if the input has a value, and once for each item of a list, which is `{{.}}` and `{{.key}}`. `{{^name}}…{{/name}}` is rendered only if it has no value.',
    properties: [
      optionalProperty('system', 'str', 'The template of the system message.', {
        default: '',
      }),
      optionalProperty('template', 'str', 'The template of the last message of the user.', { default: '' }),
      optionalProperty(
        'messages',
        'list[dict[str,any]]',
        'Messages in between, without templates: earlier messages, or examples of answers.',
        { default: [] },
      ),
    ],
    cost: costOfSections,
    outputs: [
      valueOutput('messages', 'list[dict[str,any]]'),
      valueOutput('prompt', 'str'),
      valueOutput('system', 'str'),
    ],
    gives_all: true,
    supports_dynamic_inputs: true,
    optional_dynamic_inputs: true,
    unknownName: findUnknownName,
    problem: findTemplateProblem,
    run: (inputs) => renderMessages(inputs as TemplateInputs),
  },
]
