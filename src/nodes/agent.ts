// agent.Run: a model that works by itself with tools, which are workflows of whoever runs it and node types.
import type { NodeFacts, NodeNeed, NodeProblem, NodeType } from '../engine/node-type.ts'
import { toolsProblem } from './agent-entries.ts'
import { type AgentInputs, runAgent } from './agent-run.ts'
import { conversationNeeds, conversationProperties } from './chat.ts'
import { ECHO, modelProblem, modelProperty, samplingProperties } from './chat-calls.ts'
import { conversationProblem } from './chat-messages.ts'
import { option, output, stream } from './define.ts'

const CALLS_NONE = `The model "${ECHO}" calls no tools. Name one that does, such as openai/gpt-4o-mini, or leave out the tools.`

/** The built-in model repeats what it is told, whatever tools there are. */
function echoProblem({ data: { model, tools }, isConnected }: NodeFacts): NodeProblem | null {
  if (isConnected('model') || isConnected('tools') || model !== ECHO || !Array.isArray(tools)) return null
  return tools.length === 0 ? null : { property: 'model', code: 'type_mismatch', message: CALLS_NONE }
}

/** Where it has tools, a model that calls some. */
function agentNeeds(facts: NodeFacts): NodeNeed[] {
  const { tools } = facts.data
  const needs = conversationNeeds(facts)
  if (facts.isConnected('tools') || !Array.isArray(tools) || tools.length === 0) return needs
  return needs.map((need) => (need.kind === 'model' ? { ...need, fields: [...(need.fields ?? []), 'tools'] } : need))
}

export const agentNodes: NodeType[] = [
  {
    node_type: 'agent.Run',
    title: 'Agent',
    description:
      'Has a model work on a task with tools until it has an answer. Any workflow and most node types can be tools. Each turn and each call of a tool is remembered: after an interruption none of them is done again.',
    properties: [
      modelProperty(),
      ...conversationProperties(),
      option(
        'tools',
        'list[any]',
        'What the model may call: workflow/<id>, a node type such as text.Template, or an object with workflow_id or node_type, and if need be a name, a description, and for a node type the data that the model does not choose.',
        { default: [] },
      ),
      ...samplingProperties(),
      option('max_steps', 'int', 'The most turns of the model. In the last one it may call no tool.', {
        default: 10,
        min: 1,
        max: 1000,
      }),
      option('max_tokens', 'int?', 'The most tokens of all turns together, in and out, those that failed included.', {
        min: 1,
      }),
      option(
        'max_seconds',
        'float?',
        'The most time of all turns and calls together, over all attempts. Waiting for people and between attempts counts not.',
        {
          min: 0.001,
          max: 1_000_000,
        },
      ),
      option(
        'max_cost',
        'float?',
        'The most that all turns together may cost, those that failed included, in the currency of the model.',
        {
          min: 0,
        },
      ),
      option('max_failures', 'int', 'After so many turns in a row all of whose calls failed, the agent fails.', {
        default: 3,
        min: 1,
        max: 1000,
      }),
      option('max_result_characters', 'int', 'How much of the result of a tool the model is given.', {
        default: 20_000,
        min: 100,
        max: 1_000_000,
      }),
      option('parallel', 'bool', 'Whether tools that are called in one turn run side by side.', { default: true }),
    ],
    outputs: [
      { ...stream('text', 'str'), stream_kind: 'text' },
      output('answer', 'str'),
      output('messages', 'list[dict[str,any]]'),
      output('steps', 'list[dict[str,any]]'),
      output('usage', 'dict[str,any]'),
    ],
    gives_all: true,
    effect: true,
    // Its steps are what must not be done twice.
    resumes: true,
    needs: agentNeeds,
    problem: (facts, types) =>
      modelProblem(facts) ?? toolsProblem(facts, types) ?? echoProblem(facts) ?? conversationProblem(facts),
    run: (inputs, context) => runAgent(inputs as AgentInputs, context),
  },
]
