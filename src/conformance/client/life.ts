// The events that lives of jobs are written of.
import type { JobEvent } from '../../../generated/types.ts'

export type ActiveStatus = Extract<JobEvent, { type: 'job_status' }>['status']

export interface TerminalItem {
  readonly type: 'job_terminal'
  readonly status: 'completed' | 'failed' | 'cancelled'
  /** The outputs of a completed job. */
  readonly outputs: Readonly<Record<string, unknown>>
}

/** An event without what all events have. */
export type LifeItem = TerminalItem | Readonly<{ type: string; [field: string]: unknown }>
export type Life = readonly LifeItem[]

export const GREETING = 'Hello, Ada!'

export function status(value: ActiveStatus, queue_position: number | null = null): LifeItem {
  return { type: 'job_status', status: value, queue_position, message: null }
}

export function node(value: 'running' | 'completed' | 'failed'): LifeItem {
  const error = value === 'failed' ? { error: 'The template names "title", which has no value.' } : {}
  return {
    type: 'node_status',
    node_id: 'template',
    node_type: 'text.Template',
    status: value,
    progress: null,
    ...error,
  }
}

export function output(value: unknown = GREETING): LifeItem {
  return { type: 'output_update', output_name: 'greeting', value }
}

export function completed(greeting: unknown = GREETING): LifeItem {
  return { type: 'job_terminal', status: 'completed', outputs: { greeting } }
}

export const failed: LifeItem = { type: 'job_terminal', status: 'failed', outputs: {} }
export const cancelled: LifeItem = { type: 'job_terminal', status: 'cancelled', outputs: {} }

/** Six events: accepted, running, a node that runs and completes, an output, and the end. */
export function greetingLife(greeting: unknown = GREETING): Life {
  return [
    status('accepted'),
    status('running'),
    node('running'),
    node('completed'),
    output(greeting),
    completed(greeting),
  ]
}
