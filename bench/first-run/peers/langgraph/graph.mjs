import { setImmediate as turn } from 'node:timers/promises';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

/** One node that emits `n` custom events of 20 characters, and lets the server breathe after every ten. */
const State = Annotation.Root({ n: Annotation(), done: Annotation() });
const TEXT = 'x'.repeat(20);

export const graph = new StateGraph(State)
  .addNode('emit', async ({ n = 50 }, config) => {
    for (let i = 0; i < n; i += 1) {
      config.writer({ i, text: TEXT });
      if (i % 10 === 9) await turn();
    }
    return { done: n };
  })
  .addEdge(START, 'emit')
  .addEdge('emit', END)
  .compile();
