// Examples of nodes that read and change objects.
import type { NodeExamples } from './node-example.ts'

export const dictExamples: NodeExamples = {
  'dict.Flatten': {
    data: { dict: { user: { name: 'Ada', phones: ['555-1', '555-2'] } } },
    outputs: { output: { 'user.name': 'Ada', 'user.phones[0]': '555-1', 'user.phones[1]': '555-2' } },
  },
  'dict.FromLists': {
    data: { keys: ['width', 'height'], values: [640, 480] },
    outputs: { output: { width: 640, height: 480 } },
  },
  'dict.Get': {
    data: { dict: { order: { items: [{ sku: 'A-1' }, { sku: 'B-7' }] } }, path: 'order.items[-1].sku' },
    outputs: { output: 'B-7' },
  },
  'dict.Keys': { data: { dict: { apples: 4, pears: 2 } }, outputs: { keys: ['apples', 'pears'], values: [4, 2] } },
  'dict.MapValues': {
    data: { dict: { tea: 3, cake: 4.5 }, formula: 'x * 2' },
    outputs: { output: { tea: 6, cake: 9 } },
  },
  'dict.Merge': {
    data: { a: { theme: 'light', size: { w: 10, h: 5 } }, b: { size: { h: 8 } }, deep: true },
    outputs: { output: { theme: 'light', size: { w: 10, h: 8 } } },
  },
  'dict.Remove': {
    data: { dict: { name: 'Ada', phones: ['555-1', '555-2'] }, path: 'phones[0]' },
    outputs: { output: { name: 'Ada', phones: ['555-2'] } },
  },
  'dict.Rename': {
    data: { dict: { fname: 'Ada', city: 'London' }, names: { fname: 'first_name' } },
    outputs: { output: { first_name: 'Ada', city: 'London' } },
  },
  'dict.Select': {
    data: { dict: { name: 'Ada', email: 'ada@example.com', password: 'x7!' }, keys: ['password'], invert: true },
    outputs: { output: { name: 'Ada', email: 'ada@example.com' } },
  },
  'dict.Set': {
    data: { dict: { name: 'Ada' }, path: 'address.city', value: 'London' },
    outputs: { output: { name: 'Ada', address: { city: 'London' } } },
  },
  'dict.Unflatten': {
    data: { dict: { 'user.name': 'Ada', 'user.phones[0]': '555-1' } },
    outputs: { output: { user: { name: 'Ada', phones: ['555-1'] } } },
  },
}
