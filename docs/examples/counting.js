// A program for the table, in JavaScript: it counts what others do and answers with words.
//
//     card-envs evaluate beaver_gang --agents "cmd:node docs/examples/counting.js" random

const lines = require("readline").createInterface({ input: process.stdin });
const games = new Map(); // what this program knows of its running games, by number

function say(answer) {
  process.stdout.write(JSON.stringify(answer) + "\n");
}

function choose(message) {
  const game = games.get(message.game) ?? { others: 0 };
  game.others += message.events.filter((event) => event.player !== message.player).length;
  games.set(message.game, game);
  const units = message.observation; // whole units: divide by the hello's scale for 0 to 1
  const choice = (game.others + units[0]) % message.legal.length;
  return message.legal[choice].words;
}

lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "hello") {
    say({ version: 1, observation: "values" });
  } else if (message.type === "decide") {
    say({ game: message.game, action: choose(message) });
  } else if (message.type === "end") {
    games.delete(message.game);
  }
});
