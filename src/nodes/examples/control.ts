// Examples of nodes that branch, repeat, wait and fail, and of nodes for streams.
import type { NodeExamples } from './node-example.ts'

export const controlExamples: NodeExamples = {
  'control.Batch': {
    data: { size: 2 },
    inputs: { item: ['Ada', 'Ben', 'Cem', 'Dua', 'Eve'] },
    outputs: { list: [['Ada', 'Ben'], ['Cem', 'Dua'], ['Eve']], index: [0, 1, 2], count: 3 },
  },
  'control.Catch': {
    data: {},
    outputs: {
      error: {
        node_id: 'read_price',
        node_type: 'math.ParseNumber',
        type: 'bad_input',
        message: 'The text "n/a" is not a number.',
      },
    },
    note: 'The value comes from math.ParseNumber, whose text is `n/a`.',
  },
  'control.Chain': {
    data: {},
    inputs: { a: ['starter', 'soup'], b: ['dessert'] },
    outputs: { item: ['starter', 'soup', 'dessert'], index: [0, 1, 2], count: 3 },
  },
  'control.Coalesce': {
    data: {},
    inputs: { a: null, b: 'ada@work.example', third: 'info@example.com' },
    outputs: { output: 'ada@work.example' },
  },
  'control.Collect': {
    data: {},
    inputs: { item: ['Rome', 'Oslo', 'Lima'] },
    outputs: { list: ['Rome', 'Oslo', 'Lima'] },
  },
  'control.Count': { data: {}, inputs: { item: ['Rome', 'Oslo', 'Lima'] }, outputs: { count: 3 } },
  'control.Cross': {
    data: {},
    inputs: { a: ['small', 'large'], b: ['red', 'blue'] },
    outputs: {
      a: ['small', 'small', 'large', 'large'],
      b: ['red', 'blue', 'red', 'blue'],
      index: [0, 1, 2, 3],
      count: 4,
    },
  },
  'control.Delay': { data: { value: 'Try again.', seconds: 2 }, outputs: { output: 'Try again.' } },
  'control.Fail': { data: { value: 80, condition: false, message: 'The budget is used up.' }, outputs: { output: 80 } },
  'control.ForEach': {
    data: { list: ['Rome', 'Oslo', 'Lima'] },
    outputs: { item: ['Rome', 'Oslo', 'Lima'], index: [0, 1, 2] },
  },
  'control.If': { data: { condition: true, value: 'Order 1042' }, outputs: { if_true: 'Order 1042' } },
  'control.Last': { data: {}, inputs: { item: ['draft', 'sent', 'paid'] }, outputs: { item: 'paid' } },
  'control.Loop': {
    data: { initial: 1000, times: 3 },
    outputs: { value: [1000, 1050, 1102.5], index: [0, 1, 2], result: 1157.625, rounds: 3 },
    note: '`next` comes from math.Formula, which computes `value * 1.05`.',
  },
  'control.Numbers': {
    data: { from: 10, to: 30, step: 5 },
    outputs: { item: [10, 15, 20, 25, 30], index: [0, 1, 2, 3, 4] },
  },
  'control.Reduce': { data: { formula: 'max(total, item)' }, inputs: { item: [12, 31, 27] }, outputs: { result: 31 } },
  'control.Switch': { data: { case: 'invoice', value: 'march.pdf' }, outputs: { invoice: 'march.pdf' } },
  'control.Take': {
    data: { count: 2, skip: 1 },
    inputs: { item: ['gold', 'silver', 'bronze', 'tin'] },
    outputs: { item: ['silver', 'bronze'], index: [0, 1], count: 2 },
  },
  'control.WaitFor': {
    data: { name: 'delivery_date', schema: { type: 'string' } },
    outputs: { value: '2026-04-02' },
    note: 'The job is sent this value.',
  },
  'control.Zip': {
    data: {},
    inputs: { a: ['Ada', 'Ben'], b: [36, 41, 28] },
    outputs: {
      a: ['Ada', 'Ben'],
      b: [36, 41],
      pair: [
        ['Ada', 36],
        ['Ben', 41],
      ],
      index: [0, 1],
      count: 2,
    },
  },
}
