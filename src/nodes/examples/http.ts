// Examples of nodes that send requests.
import type { NodeExamples } from './node-example.ts'

export const httpExamples: NodeExamples = {
  'http.Pages': {
    data: { url: 'https://shop.example/orders', mode: 'page', items_path: 'orders' },
    outputs: { item: [{ id: 1040 }, { id: 1041 }, { id: 1042 }], page: [1, 1, 2] },
    note: 'The first page has two orders, the second one, the third none.',
  },
  'http.Request': {
    data: { url: 'https://shop.example/orders/1042', headers: { authorization: 'Bearer {{secret:SHOP_TOKEN}}' } },
    outputs: { status: 200, body: { id: 1042, status: 'packed' } },
    note: 'The answer is that of the server.',
  },
}
