// A handler that the activator feeds (feed protocol 1): answers each order with a receipt.
//
// Needs Node and nothing else: no SQL driver, no connection. Configured with kind = "feed".
import { createInterface } from 'node:readline';

const [replyType] = process.argv.slice(2);
const say = (object) => process.stdout.write(`${JSON.stringify(object)}\n`);

// The work itself. A rejection ends the handler, and the message comes again in another one.
const receipt = async (order) => order.toUpperCase();

// One line, one message; the first line is the greeting. The end of the input is the word to finish.
let greeted = false;
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (!greeted) {
    greeted = true;
    if (message.hello !== 1) throw new Error(`feed protocol ${message.hello} is not known here`);
    continue;
  }
  const { id, body } = message;
  if (body?.text === undefined) {
    say({ id, dead: 'an order has to be text' });
  } else {
    // A line for the activator's log.
    say({ log: `a receipt for ${body.text}` });
    say({ id, reply: { type: replyType, body: { text: await receipt(body.text) } }, done: true });
  }
}
