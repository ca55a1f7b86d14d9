import { EVENTS_DIVERGENCES } from './events.divergences.ts';
import { describeEvents } from './events.suite.ts';
import { describeWithMoto } from './reference/moto.ts';

describeWithMoto((moto) => {
  describeEvents({
    name: 'EventBridge on moto',
    side: 'moto',
    endpoint: () => moto().url,
    divergences: EVENTS_DIVERGENCES,
  });
});
